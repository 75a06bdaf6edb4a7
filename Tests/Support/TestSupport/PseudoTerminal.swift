import CSessionToolsSpawn
import Foundation
import Glibc

/// The tool in front of a person: in a session of its own, with a pseudo terminal that controls it.
package final class PseudoTerminal {
  struct Failed: Error {
    let call: String
    let errno: Int32
  }

  /// The master end of the terminal, at which the person sits.
  private let master: Int32
  package let process: Int32
  private var unread: [UInt8] = []
  /// All that the terminal has shown.
  package private(set) var shown: [UInt8] = []

  /// Starts `session-tools` with arguments.
  package convenience init(
    _ tool: Tool, _ arguments: String..., environment: [String: String] = [:]
  ) throws {
    try self.init(tool, [Tool.program] + arguments, environment: environment)
  }

  /// Starts any program with arguments; if a file is named, it is the program's descriptor 3.
  ///
  /// Without a number of columns, the terminal does not know its width.
  package init(
    _ tool: Tool, _ words: [String], descriptor3 file: String? = nil, columns: UInt16 = 0,
    environment: [String: String] = [:]
  ) throws {
    var (master, slave): (Int32, Int32) = (-1, -1)
    var name = [CChar](repeating: 0, count: 128)
    var size = winsize(ws_row: columns == 0 ? 0 : 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
    guard unsafe openpty(&master, &slave, &name, nil, &size) == 0 else {
      throw Failed(call: "openpty", errno: errno)
    }
    self.master = master
    defer { close(slave) }
    _ = fcntl(master, F_SETFD, FD_CLOEXEC)
    _ = fcntl(slave, F_SETFD, FD_CLOEXEC)
    let terminal = String(
      decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)

    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe _ = posix_spawn_file_actions_destroy(&actions) }
    // The first terminal that the leader of a session opens controls it.
    unsafe posix_spawn_file_actions_addopen(&actions, 0, terminal, O_RDWR, 0)
    unsafe posix_spawn_file_actions_adddup2(&actions, 0, 1)
    unsafe posix_spawn_file_actions_adddup2(&actions, 0, 2)
    // A reader of what another test's program writes would wait for the end of this one.
    unsafe posix_spawn_file_actions_addclosefrom_np(&actions, 3)
    unsafe posix_spawn_file_actions_addchdir_np(&actions, tool.path)
    if let file { unsafe posix_spawn_file_actions_addopen(&actions, 3, file, O_RDONLY, 0) }
    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe _ = posix_spawnattr_destroy(&attributes) }
    // Threads of Dispatch, which tests run on, block all signals.
    var noSignals = sigset_t()
    unsafe sigemptyset(&noSignals)
    unsafe posix_spawnattr_setsigmask(&attributes, &noSignals)
    // POSIX_SPAWN_SETSID is not shown by Swift's module.
    unsafe posix_spawnattr_setflags(&attributes, Int16(0x80 | POSIX_SPAWN_SETSIGMASK))

    let variables = tool.environment.merging(environment) { $1 }.map { "\($0)=\($1)" }
    var argv = unsafe words.map { unsafe strdup($0) } + [nil]
    var envp = unsafe variables.map { unsafe strdup($0) } + [nil]
    defer { unsafe (argv + envp).forEach { unsafe free($0) } }
    var process: Int32 = 0
    let result = unsafe posix_spawnp(&process, words[0], &actions, &attributes, &argv, &envp)
    guard result == 0 else { throw Failed(call: "posix_spawnp", errno: result) }
    self.process = process
  }

  deinit {
    close(master)
  }

  /// Reads until a text is shown, after the text that the last call found.
  ///
  /// - Returns: `false` if the process ends without it or takes more than five minutes.
  package func shows(_ text: String) -> Bool {
    let wanted = Array(text.utf8)
    var wait = Wait()
    while true {
      if let end = Self.end(of: wanted, in: unread) {
        unread.removeFirst(end)
        return true
      }
      guard !wait.isOver(), read(timeout: 100) else { return false }
    }
  }

  /// Types a text.
  package func type(_ text: String) {
    type(Array(text.utf8))
  }

  /// Types bytes.
  package func type(_ bytes: [UInt8]) {
    unsafe _ = write(master, bytes, bytes.count)
  }

  /// Whether the terminal echoes typed text.
  package var echoes: Bool {
    var settings = termios()
    guard unsafe tcgetattr(master, &settings) == 0 else { return false }
    return settings.c_lflag & tcflag_t(ECHO) != 0
  }

  /// Waits for the end of the process.
  ///
  /// - Returns: The exit status, or 128 plus the number of the signal, as in shells.
  package func end() -> Int32 {
    var wait = Wait()
    while read(timeout: 100) {
      if wait.isOver() { kill(process, SIGKILL) }
    }
    var status: Int32 = 0
    unsafe waitpid(process, &status, 0)
    return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F
  }

  /// Waits until the process stops or ends, and returns whether it stopped.
  package func isStopped() -> Bool {
    var status: Int32 = 0
    unsafe waitpid(process, &status, WUNTRACED)
    return status & 0xFF == 0x7F
  }

  /// Continues a stopped process.
  package func resume() {
    kill(process, SIGCONT)
  }

  /// All that has been shown, as text.
  package var text: String { String(decoding: shown, as: UTF8.self) }

  /// Reads once, and returns whether there may be more to read.
  private func read(timeout: Int32) -> Bool {
    var waiting = pollfd(fd: master, events: Int16(POLLIN), revents: 0)
    guard unsafe poll(&waiting, 1, timeout) > 0 else { return true }
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = unsafe Glibc.read(master, &buffer, buffer.count)
    // EIO: the other side has been closed.
    guard count > 0 else { return false }
    unread += buffer.prefix(count)
    shown += buffer.prefix(count)
    return true
  }

  private static func end(of wanted: [UInt8], in bytes: [UInt8]) -> Int? {
    guard bytes.count >= wanted.count else { return nil }
    for start in 0...bytes.count - wanted.count
    where bytes[start..<start + wanted.count].elementsEqual(wanted) {
      return start + wanted.count
    }
    return nil
  }
}
