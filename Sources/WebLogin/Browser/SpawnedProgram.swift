import Dispatch
import Foundation
import Glibc
import SessionToolsBase

/// A program that is started; the only file that starts any.
///
/// Not by Foundation's `Process`: that takes a program for running, and keeps a descriptor open, as long
/// as any browser runs that the program has started.
///
/// Unless it is said otherwise, its input is nothing and its output is thrown away, because `xdg-open`
/// prints the address when it fails. It belongs to a process group of its own, so that Ctrl-C in a terminal does not end the browser.
final class SpawnedProgram: Sendable {
  /// `nil` when nobody knows how it ended.
  private let ending = FirstAnswer<Int32?>()

  /// Starts it, found by `PATH`.
  ///
  /// - Parameters:
  ///   - program: Its name.
  ///   - arguments: Its arguments, which everybody on the machine can read.
  ///   - environment: What it sees besides what this process does.
  ///   - stream: What its input comes from and its output goes to, if that is not nothing.
  /// - Throws: `POSIXError` when it cannot be started.
  init(
    _ program: String, _ arguments: [String], environment: [String: String] = [:],
    stream: Int32? = nil
  ) throws {
    let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    let identifier = try Self.spawn(program, arguments, variables, stream)
    // It waits as long as the browser runs, if that is what it became.
    let thread = Thread { [ending] in
      var status: Int32 = 0
      while unsafe waitpid(identifier, &status, 0) == -1 {
        // A program that ignores SIGCHLD does not learn how its children end.
        guard errno == EINTR else { return ending.give(nil) }
      }
      ending.give(status & 0x7F == 0 ? (status >> 8) & 0xFF : status & 0x7F)
    }
    thread.stackSize = 1 << 17
    thread.start()
  }

  /// How it ended; `nil` when nobody knows, or the task was cancelled before.
  func status() async -> Int32? {
    await ending.value(whenCancelled: nil)
  }

  private static func spawn(
    _ program: String, _ arguments: [String], _ environment: [String: String], _ stream: Int32?
  ) throws -> pid_t {
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    for descriptor: Int32 in 0...1 {
      guard let stream else { continue }
      unsafe posix_spawn_file_actions_adddup2(&actions, stream, descriptor)
    }
    for descriptor: Int32 in (stream == nil ? 0 : 2)...2 {
      unsafe posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
    }
    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    // The pool's threads have signals blocked, and a program may ignore some.
    var (none, all) = (sigset_t(), sigset_t())
    unsafe sigemptyset(&none)
    unsafe sigfillset(&all)
    unsafe posix_spawnattr_setsigmask(&attributes, &none)
    unsafe posix_spawnattr_setsigdefault(&attributes, &all)
    unsafe posix_spawnattr_setflags(
      &attributes,
      Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))
    var (words, variables) = unsafe (
      ([program] + arguments).map { unsafe strdup($0) },
      environment.map { unsafe strdup("\($0)=\($1)") }
    )
    defer { unsafe (words + variables).forEach { unsafe free($0) } }
    unsafe words.append(nil)
    unsafe variables.append(nil)
    var identifier = pid_t()
    let error = unsafe posix_spawnp(
      &identifier, program, &actions, &attributes, words, variables)
    guard error == 0 else { throw POSIXError(POSIXErrorCode(rawValue: error) ?? .EIO) }
    return identifier
  }

  /// Runs a program that turns its input into its output; `nil` when it fails or takes too long.
  ///
  /// - Parameters:
  ///   - program: Its name.
  ///   - arguments: Its arguments.
  ///   - input: At most some thousand bytes, which need no reader to be written.
  ///   - timeout: How long it may take.
  /// - Returns: What it wrote; at most 64 KiB are read.
  /// - Throws: What keeps it from being started.
  static func output(
    of program: String, _ arguments: [String], for input: String, within timeout: Duration
  ) async throws -> String? {
    var ends: [Int32] = [0, 0]
    // Sockets, because writing to a pipe that nobody reads any more ends the process.
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    guard unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw POSIXError(.EMFILE) }
    let (ours, theirs) = (ends[0], ends[1])
    let child: SpawnedProgram
    do {
      defer { close(theirs) }
      child = try SpawnedProgram(program, arguments, stream: theirs)
    } catch {
      close(ours)
      throw error
    }
    var span = timeval(tv_sec: Int(timeout / .seconds(1)), tv_usec: 0)
    unsafe setsockopt(ours, SOL_SOCKET, SO_RCVTIMEO, &span, socklen_t(MemoryLayout<timeval>.size))
    let output = await withCheckedContinuation { continuation in
      // A queue of its own has a thread of its own, which may block.
      DispatchQueue(label: "session-tools.program").async {
        let bytes = Array(input.utf8)
        _ = unsafe send(ours, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        shutdown(ours, Int32(SHUT_WR))
        continuation.resume(returning: readToEnd(ours))
        close(ours)
      }
    }
    guard let output, await child.status() == 0 else { return nil }
    return String(decoding: output, as: UTF8.self)
  }

  /// `nil` when there is more than anybody wants, or it takes too long.
  private static func readToEnd(_ descriptor: Int32) -> [UInt8]? {
    var (all, part) = ([UInt8](), [UInt8](repeating: 0, count: 1 << 12))
    while all.count <= 1 << 16 {
      let count = unsafe recv(descriptor, &part, part.count, 0)
      if count == 0 { return all }
      guard count > 0 || errno == EINTR else { return nil }
      if count > 0 { all += part.prefix(count) }
    }
    return nil
  }
}
