import CSessionToolsLinux
import Glibc

/// A running program; this is the only file that starts programs.
///
/// Foundation's `Process` is not used: it considers a program running, and keeps a descriptor open,
/// as long as any other program that it has started runs.
///
/// The program gets its own process group, so that Ctrl-C in a terminal does not end it, and so
/// that it can be killed together with the programs it has started; see ``Place`` for others. It
/// must be waited for exactly once, unless this process ends before it.
package struct StartedProgram: Sendable {
  /// Where a program runs.
  package enum Place: Sendable {
    /// In a process group of its own.
    case ownGroup
    /// In this process's group, because only that group may use the terminal.
    case foreground
    /// In a session of its own, without a terminal, for a program that runs on after this one.
    case ownSession

    fileprivate var flag: Int32 {
      switch self {
      case .ownGroup: Int32(POSIX_SPAWN_SETPGROUP)
      case .foreground: 0
      // POSIX_SPAWN_SETSID of <spawn.h>, which Glibc's module leaves out. The leader of a session
      // also leads a process group.
      case .ownSession: 0x80
      }
    }
  }

  /// The program's standard streams; a stream that is not given is `/dev/null`.
  package struct Streams {
    package var input: Int32?
    package var output: Int32?
    package var errors: Int32?
    /// A descriptor that the program gets a copy of as its descriptor 3.
    package var shared: Int32?

    package init(
      input: Int32? = nil, output: Int32? = nil, errors: Int32? = nil, shared: Int32? = nil
    ) {
      self.input = input
      self.output = output
      self.errors = errors
      self.shared = shared
    }
  }

  private let identifier: pid_t
  private let place: Place

  /// Starts a program, found by `PATH`.
  ///
  /// - Parameters:
  ///   - program: Its name or path.
  ///   - arguments: Its arguments, which every user of the machine can read.
  ///   - environment: Variables added to those of this process, which it gets byte for byte.
  ///   - inherited: The names of those variables of this process that it gets; all by default.
  ///   - streams: Descriptors that it gets copies of.
  ///   - place: Where it runs; a process group of its own by default.
  /// - Throws: `posix_spawnp` with its error, such as `ENOENT` when there is no such program.
  package init(
    _ program: String, _ arguments: [String], environment: [String: String] = [:],
    inheriting inherited: [String]? = nil, streams: Streams = Streams(), place: Place = .ownGroup
  ) throws(SystemCallError) {
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    let given = [streams.input, streams.output, streams.errors]
    for (descriptor, stream) in zip(Int32(0)..., given) {
      if let stream {
        unsafe posix_spawn_file_actions_adddup2(&actions, stream, descriptor)
      } else {
        unsafe posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
      }
    }
    if let shared = streams.shared {
      unsafe posix_spawn_file_actions_adddup2(&actions, shared, 3)
    }
    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    // The pool's threads have signals blocked, and this process may ignore some.
    var (none, all) = (sigset_t(), sigset_t())
    unsafe sigemptyset(&none)
    unsafe sigfillset(&all)
    unsafe posix_spawnattr_setsigmask(&attributes, &none)
    unsafe posix_spawnattr_setsigdefault(&attributes, &all)
    unsafe posix_spawnattr_setflags(
      &attributes, Int16(Int32(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) | place.flag))
    var (words, added) = unsafe (
      ([program] + arguments).map { unsafe strdup($0) },
      environment.map { unsafe strdup("\($0)=\($1)") }
    )
    defer { unsafe (words + added).forEach { unsafe free($0) } }
    unsafe words.append(nil)
    let variables =
      unsafe InheritedVariables.all(only: inherited, except: environment.keys) + added + [nil]
    var identifier = pid_t()
    let error = unsafe posix_spawnp(
      &identifier, program, &actions, &attributes, words, variables)
    guard error == 0 else { throw SystemCallError("posix_spawnp", error) }
    self.identifier = identifier
    self.place = place
  }

  /// Waits until the program has ended, blocking the thread.
  ///
  /// - Returns: Its status, or 128 and the number of the signal that ended it, as in shells; `nil`
  ///   when it is unknown, because this process ignores SIGCHLD.
  package func wait() -> Int32? {
    var status: Int32 = 0
    while unsafe waitpid(identifier, &status, 0) == -1 {
      guard errno == EINTR else { return nil }
    }
    return status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + status & 0x7F
  }

  /// Whether the program has ended; it must still be waited for.
  package var hasEnded: Bool {
    var information = unsafe siginfo_t()
    let result = unsafe waitid(
      P_PID, id_t(identifier), &information, WEXITED | WNOHANG | WNOWAIT)
    return unsafe result != 0 || information.si_signo == SIGCHLD
  }

  /// Whether the program has been stopped, as one in the background is that asks on the terminal.
  package var isStopped: Bool {
    var information = unsafe siginfo_t()
    let result = unsafe waitid(
      P_PID, id_t(identifier), &information, WSTOPPED | WNOHANG | WNOWAIT)
    return unsafe result == 0 && information.si_signo == SIGCHLD
  }

  /// Asks the program to end, and those in its group, as ``end()``.
  package func askToEnd() {
    _ = kill(place == .foreground ? identifier : -identifier, SIGTERM)
  }

  /// Kills the program at once, and those it has started in its group, unless that is the group of
  /// this process; call it before `wait()`.
  package func end() {
    _ = kill(place == .foreground ? identifier : -identifier, SIGKILL)
  }
}

/// The environment of this process, for the programs that it starts.
package enum InheritedVariables {
  /// Returns the variables of this process with bytes that are not UTF-8 as they are: all, or only
  /// some, and none of those to leave out.
  ///
  /// They belong to the process, and must not be freed.
  package static func all(
    only kept: [String]? = nil, except names: some Collection<String>
  ) -> [UnsafeMutablePointer<CChar>?] {
    var variables = unsafe [UnsafeMutablePointer<CChar>?]()
    var next = unsafe session_tools_environment()
    while let variable = unsafe next?.pointee {
      func isNamed(_ name: String) -> Bool {
        let start = "\(name)="
        return unsafe strncmp(variable, start, start.utf8.count) == 0
      }
      if kept?.contains(where: isNamed) != false, !names.contains(where: isNamed) {
        unsafe variables.append(variable)
      }
      unsafe next = next?.advanced(by: 1)
    }
    return unsafe variables
  }
}
