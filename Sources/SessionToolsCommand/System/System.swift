import CSessionToolsLinux
import Glibc
import SessionToolsLazyLibraries
import SessionToolsBase

/// The tool's system calls, other than those for the files of a store.
///
/// No file outside of this folder makes these calls, except for `signal`, `raise` and `exit`.
enum System {
  // MARK: - This process

  /// The largest core dump the process would have written when it started; `nil` for no limit.
  static let coreDumpLimit = limit(RLIMIT_CORE)
  /// The most memory the process may keep out of swap; `nil` for no limit.
  static let lockedMemoryLimit = limit(__RLIMIT_MEMLOCK)

  /// Keeps keys out of core dumps and backtraces, and away from debuggers of the same user.
  static func forbidCoreDumps() {
    _ = coreDumpLimit
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    // Lowering a limit always works. The second call is for systems that pipe dumps to a
    // program, which the limit does not stop.
    _ = unsafe setrlimit(RLIMIT_CORE.resource, &none)
    _ = session_tools_forbid_dumping()
    // On a terminal, Swift's runtime reports a crash with the registers and the memory they point
    // to, which may be a key.
    _ = ignoresQuit
    for crash in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] {
      signal(crash, SIG_DFL)
    }
  }

  /// Makes sure that no file of a store becomes standard input, output or error.
  ///
  /// A program started with one of them closed gets its number for the next file it opens, and
  /// would write its output there. The tool cannot read from the input opened here or write to the
  /// outputs, so their use fails.
  static func occupyStandardDescriptors() {
    for (descriptor, access) in [(0, O_WRONLY), (1, O_RDONLY), (2, O_RDONLY)] as [(Int32, Int32)] {
      if fcntl(descriptor, F_GETFD) >= 0 { continue }
      _ = unsafe open("/dev/null", access)
    }
  }

  /// Leaves what a program that runs on must not keep from the one that started it: the working
  /// directory, and all files but the three standard ones.
  ///
  /// Call it before this process opens any.
  ///
  /// - Parameter kept: A descriptor that stays open.
  static func leaveTheStarter(keeping kept: Int32?) {
    unsafe _ = chdir("/")
    for descriptor in Files.names(in: "/proc/self/fd").compactMap({ Int32($0) })
    where descriptor > STDERR_FILENO && descriptor != kept {
      // One of them belonged to the list, and is closed already.
      close(descriptor)
    }
  }

  /// Gives up the standard error of the program that started this one.
  static func discardErrors() {
    let null = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
    guard null >= 0 else { return }
    dup2(null, STDERR_FILENO)
    close(null)
  }

  /// Makes a write to a closed pipe, or beyond the limit on the size of files, fail with an error
  /// instead of a signal that ends the process during a change.
  static func ignoreSignalsOfWriting() {
    _ = signalsOfWriting
  }

  /// Ignores the signals that this process was started with, for a program that takes its place,
  /// which inherits what is ignored.
  static func ignoreSignalsAsAtStart() {
    for (number, wasIgnored) in signalsOfWriting where !wasIgnored { signal(number, SIG_DFL) }
    if ignoresQuit { signal(SIGQUIT, SIG_IGN) }
  }

  /// Whether SIGQUIT was ignored when the process started, as in a shell's background.
  private static let ignoresQuit = Interruption.isIgnoring(signal(SIGQUIT, SIG_DFL))

  /// The signals of writing, and whether they were ignored when the process started.
  private static let signalsOfWriting = [SIGPIPE, SIGXFSZ].map { number in
    (number, Interruption.isIgnoring(signal(number, SIG_IGN)))
  }

  /// Closes a descriptor when another program takes the place of this one.
  static func closeOnExecution(_ descriptor: Int32) {
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
  }

  /// Ends the process as any program ends when its reader is gone, as before `| head`.
  static func dieOfBrokenPipe() -> Never {
    signal(SIGPIPE, SIG_DFL)
    raise(SIGPIPE)
    exit(128 + SIGPIPE)
  }

  /// The arguments of this process, its name included, byte for byte; Swift's own list has replaced
  /// those that are not UTF-8, and is empty where `/proc` is not mounted.
  private static var argumentBytes: [[UInt8]] {
    (0..<session_tools_argument_count()).compactMap { position in
      guard let text = unsafe session_tools_argument(position) else { return nil }
      return unsafe Array(UnsafeRawBufferPointer(start: text, count: strlen(text)))
    }
  }

  /// The arguments of this process, its name included.
  static var arguments: [String] {
    argumentBytes.map { String(decoding: $0, as: UTF8.self) }
  }

  /// Whether every argument is UTF-8.
  static var areArgumentsUTF8: Bool { argumentBytes.allSatisfy(\.isUTF8) }

  /// Whether every argument up to the first `--` is UTF-8.
  static var areOwnArgumentsUTF8: Bool {
    argumentBytes.prefix { $0 != terminator }.allSatisfy(\.isUTF8)
  }

  /// The arguments behind the first `--`, byte for byte.
  static var argumentsBehindTerminator: [[UInt8]] {
    Array(argumentBytes.drop { $0 != terminator }.dropFirst())
  }

  private static let terminator = Array("--".utf8)

  private static func limit(_ kind: __rlimit_resource) -> UInt64? {
    var limit = rlimit()
    guard unsafe getrlimit(kind.resource, &limit) == 0, limit.rlim_cur != rlim_t.max else {
      return nil
    }
    return UInt64(limit.rlim_cur)
  }

  // MARK: - Bytes

  /// Writes all bytes of a text.
  static func write(_ text: String, to descriptor: Int32) throws(SystemCallError) {
    var done = 0
    try write(text, to: descriptor, done: &done)
  }

  /// Writes all bytes of a text, and sets how many were written, also if it throws.
  static func write(
    _ text: String, to descriptor: Int32, done: inout Int
  ) throws(SystemCallError) {
    let bytes = ByteBuffer(Array(text.utf8))
    let range = 0..<bytes.byteCount
    try unsafe write(
      UnsafeRawBufferPointer(start: bytes.pointer(to: range), count: range.count), to: descriptor,
      done: &done)
  }

  /// Writes all bytes of a secret, without copying them.
  static func write(_ secret: SecretBytes, to descriptor: Int32) throws(SystemCallError) {
    try secret.withBytes { bytes throws(SystemCallError) in
      try unsafe bytes.withUnsafeBytes { bytes throws(SystemCallError) in
        var done = 0
        try unsafe write(bytes, to: descriptor, done: &done)
      }
    }
  }

  private static func write(
    _ bytes: UnsafeRawBufferPointer, to descriptor: Int32, done: inout Int
  ) throws(SystemCallError) {
    done = 0
    while done < bytes.count {
      let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[done...])
      let count = unsafe Glibc.write(descriptor, rest.baseAddress, rest.count)
      if count >= 0 {
        done += count
      } else if errno != EINTR {
        throw SystemCallError("write", errno)
      }
    }
  }

  /// Reads a file, into memory that is wiped; returns `nil` if there is more than the limit.
  static func readAll(
    _ path: String, atMost maximumByteCount: Int
  ) throws(SystemCallError) -> SecretBytes? {
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
    guard file >= 0 else { throw SystemCallError("open", errno) }
    defer { close(file) }
    return try readAll(file, atMost: maximumByteCount)
  }

  /// Reads to the end, into memory that is wiped; returns `nil` if there is more than the limit.
  static func readAll(
    _ descriptor: Int32, atMost maximumByteCount: Int
  ) throws(SystemCallError) -> SecretBytes? {
    var buffer = ByteBuffer(byteCount: 1 << 16, isSecret: true)
    var byteCount = 0
    while true {
      let count = try read(descriptor, into: buffer, byteCount..<buffer.byteCount)
      if count == 0 { return buffer.secret(0..<byteCount) }
      byteCount += count
      if byteCount > maximumByteCount { return nil }
      if byteCount == buffer.byteCount {
        let larger = ByteBuffer(byteCount: byteCount * 2, isSecret: true)
        larger.copy(buffer, 0..<byteCount, to: 0)
        buffer = larger
      }
    }
  }

  static func read(
    _ descriptor: Int32, into buffer: ByteBuffer, _ range: Range<Int>
  ) throws(SystemCallError) -> Int {
    while true {
      let count = unsafe Glibc.read(descriptor, buffer.pointer(to: range), range.count)
      if count >= 0 { return count }
      if errno != EINTR { throw SystemCallError("read", errno) }
    }
  }

  /// Returns whether a descriptor is a terminal.
  static func isTerminal(_ descriptor: Int32) -> Bool {
    isatty(descriptor) == 1
  }

  /// Returns the width of a terminal in characters; `nil` if it is not known.
  static func columnCount(of descriptor: Int32) -> Int? {
    let count = Int(session_tools_column_count(descriptor))
    return count > 0 ? count : nil
  }
}

extension __rlimit_resource {
  /// The limit's number, in the type that the calls take.
  fileprivate var resource: __rlimit_resource_t { __rlimit_resource_t(rawValue) }
}

extension [UInt8] {
  fileprivate var isUTF8: Bool { String(validating: self, as: UTF8.self) != nil }
}
