import CSessionToolsSpawn
package import Foundation
import Synchronization

/// A process that tests start.
///
/// It does not use Foundation's `Process`, which regards a process as running as long as any other
/// one has inherited a descriptor of it. Tests start many at the same time, and some that live as
/// long as other tests: each would wait for the other. Here a process inherits its input and its
/// outputs alone.
package final class Child: Sendable {
  private enum State {
    case running
    case ended(status: Int32)
  }

  package let identifier: Int32
  private let state = Mutex(State.running)
  private let isEnded = DispatchSemaphore(value: 0)

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - program: Its path.
  ///   - arguments: Its arguments, without its name.
  ///   - environment: Its variables, besides the settings of sanitizers.
  ///   - directory: Where it runs, by default where this process does.
  ///   - input: Its standard input, by default an empty one.
  ///   - output: Its standard output, which is discarded by default.
  ///   - errors: Its standard error, which is discarded by default: a program that outlives the
  ///     tests would keep the output of this process open, for whose end `swift test` waits.
  /// - Throws: `POSIXError` if it cannot be started.
  package init(
    _ program: String, _ arguments: [String], environment: [String: String],
    in directory: String? = nil, input: Int32? = nil, output: Int32? = nil, errors: Int32? = nil
  ) throws {
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    for (descriptor, given) in [(0, input), (1, output), (2, errors)] as [(Int32, Int32?)] {
      if let given {
        unsafe posix_spawn_file_actions_adddup2(&actions, given, descriptor)
      } else {
        unsafe posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
      }
    }
    unsafe posix_spawn_file_actions_addclosefrom_np(&actions, 3)
    if let directory { unsafe posix_spawn_file_actions_addchdir_np(&actions, directory) }
    var strings = unsafe ([program] + arguments).map { unsafe strdup($0) }
    // The settings of a sanitizer are for every process: by default some report what is no error.
    // So is the mutant of the mutation check.
    let settings = ProcessInfo.processInfo.environment.filter {
      $0.key.hasSuffix("SAN_OPTIONS") || $0.key == "SESSION_TOOLS_MUTANT"
    }
    var variables = unsafe settings.merging(environment) { $1 }.map {
      unsafe strdup("\($0)=\($1)")
    }
    defer { unsafe (strings + variables).forEach { unsafe free($0) } }
    unsafe strings.append(nil)
    unsafe variables.append(nil)
    var identifier: Int32 = 0
    // The pool's threads block signals, and so would the child, which may wait for some.
    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe posix_spawnattr_setsigmask(&attributes, &signals)
    unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    let error = unsafe posix_spawn(
      &identifier, program, &actions, &attributes, strings, variables)
    guard error == 0 else { throw POSIXError(POSIXErrorCode(rawValue: error) ?? .EIO) }
    self.identifier = identifier
    // Waits at once, because the testing library waits for any child, and would find this one.
    let thread = Thread { [self, identifier] in
      var status: Int32 = 0
      while unsafe waitpid(identifier, &status, 0) == -1, errno == EINTR {}
      state.withLock { $0 = .ended(status: status) }
      isEnded.signal()
    }
    thread.stackSize = 1 << 17
    thread.start()
  }

  /// Starts a program that is spoken with; its input ends with the returned one, at the latest when
  /// this process ends.
  package static func piped(
    _ program: String, _ arguments: [String],
    environment: [String: String] = ProcessInfo.processInfo.environment, errors: Int32? = nil
  ) throws -> (Child, input: FileHandle, output: FileHandle) {
    let (input, output) = (try ClosedPipe(), try ClosedPipe())
    let child = try Child(
      program, arguments, environment: environment, input: input.reader.fileDescriptor,
      output: output.writer.fileDescriptor, errors: errors)
    // Now its output ends when the process ends.
    try input.reader.close()
    try output.writer.close()
    return (child, input.writer, output.reader)
  }

  package var isRunning: Bool {
    state.withLock { if case .running = $0 { true } else { false } }
  }

  /// Sends a signal to the process, if it still runs.
  package func kill(_ signal: Int32 = SIGKILL) {
    state.withLock { state in
      if case .running = state { _ = Glibc.kill(identifier, signal) }
    }
  }

  /// Blocks the thread until the process has ended.
  ///
  /// - Returns: Its exit status, or the negative number of the signal that ended it.
  @discardableResult
  package func waitUntilExit() -> Int32 {
    isEnded.wait()
    isEnded.signal()
    return state.withLock { state in
      guard case .ended(let status) = state else { return -1 }
      let signal = status & 0x7F
      return signal == 0 ? status >> 8 : -signal
    }
  }
}

/// A pipe that children do not inherit by default.
package struct ClosedPipe {
  package let reader: FileHandle
  package let writer: FileHandle

  package init() throws {
    var ends: [Int32] = [0, 0]
    // Sockets, because glibc shows Swift only pipes that are inherited.
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    guard unsafe socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw POSIXError(.EMFILE) }
    reader = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
    writer = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
  }
}

/// A file for what a program writes, which is gone with this object.
package final class CapturedText: Sendable {
  private let directory: TemporaryDirectory
  /// For the program.
  package let writer: FileHandle

  package init() throws {
    directory = try TemporaryDirectory()
    let path = directory["text"]
    guard FileManager.default.createFile(atPath: path, contents: nil) else {
      throw POSIXError(.EIO)
    }
    writer = try FileHandle(forWritingTo: URL(filePath: path))
  }

  package var data: Data {
    // The file was made above: without it, the test has more to complain about than this text.
    (try? Data(contentsOf: URL(filePath: directory["text"]))) ?? Data()
  }

  package var text: String { String(decoding: data, as: UTF8.self) }
}
