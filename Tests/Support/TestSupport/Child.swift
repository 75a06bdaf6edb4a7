package import Foundation
import Synchronization

/// A process that tests start.
///
/// It does not use Foundation's `Process`, which regards a process as running as long as any other
/// one has inherited a descriptor of it; tests start many at the same time.
package final class Child: Sendable {
  private enum State {
    case running
    case ended(status: Int32)
  }

  package let identifier: pid_t
  private let state = Mutex(State.running)
  private let isEnded = DispatchSemaphore(value: 0)

  /// Starts a program; if `nil`, its input is empty, or its output is discarded.
  package init(
    _ program: String, _ arguments: [String], environment: [String: String],
    input: Int32? = nil, output: Int32? = nil
  ) throws {
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    let descriptors: [(Int32, Int32?)] = [(0, input), (1, output), (2, nil)]
    for (descriptor, given) in descriptors {
      if let given {
        unsafe posix_spawn_file_actions_adddup2(&actions, given, descriptor)
      } else {
        unsafe posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
      }
    }
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
    var identifier = pid_t()
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
  /// - Returns: The status that `waitpid` reports.
  @discardableResult
  package func waitUntilExit() -> Int32 {
    isEnded.wait()
    isEnded.signal()
    return state.withLock { if case .ended(let status) = $0 { status } else { -1 } }
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
