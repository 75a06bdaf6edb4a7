import CSessionToolsLinux
import Glibc
import SessionToolsBase

/// The terminal at which a person is asked.
extension System {
  /// The longest line that a terminal delivers, in bytes; it drops the rest silently.
  static let maximumTerminalLine = 4094

  /// The outcome of a question.
  enum TerminalAnswer {
    /// The line without its end.
    case line(SecretBytes)
    /// The person ended the input, or a signal interrupted the operation.
    case ended
    case timedOut
    /// Another thread woke the thread that asks.
    case woken
  }

  /// Asks at the controlling terminal, whatever standard input is.
  ///
  /// Echo is restored whatever happens short of SIGKILL: signals wait until it is.
  ///
  /// - Returns: The line without its end; `nil` if the person ended the input instead.
  static func askAtTerminal(
    _ question: String, isHidden: Bool
  ) throws(SystemCallError) -> SecretBytes? {
    guard case .line(let line) = try askAtTerminal(question, isHidden: isHidden, timeout: nil)
    else { return nil }
    return line
  }

  /// Asks at the terminal, until the timeout or until the thread is woken.
  ///
  /// In both cases, any part of an answer typed by then is discarded.
  static func askAtTerminal(
    _ question: String, isHidden: Bool, timeout: Duration?, wake: Wake? = nil
  ) throws(SystemCallError) -> TerminalAnswer {
    let terminal = unsafe open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
    guard terminal >= 0 else { throw SystemCallError("open", errno) }
    defer { close(terminal) }
    let end = timeout.map { ContinuousClock.now + $0 }
    while true {
      switch try askOnce(question, terminal, isHidden: isHidden, until: end, wake: wake) {
      case .answer(let answer): return answer
      case .interrupted: if Interruption.signal != nil { return .ended }
      }
    }
  }

  /// Whether there is a terminal to ask at.
  static var hasTerminal: Bool {
    let terminal = unsafe open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
    guard terminal >= 0 else { return false }
    close(terminal)
    return true
  }

  /// Writes a text to the controlling terminal, wherever standard output and standard error go.
  static func writeToTerminal(_ text: String) throws(SystemCallError) {
    let terminal = unsafe open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
    guard terminal >= 0 else { throw SystemCallError("open", errno) }
    defer { close(terminal) }
    try write(text, to: terminal)
  }

  private enum Outcome {
    case answer(TerminalAnswer)
    /// A signal arrived and did not end the process, which was stopped and continued, or caught it.
    case interrupted
  }

  private static func askOnce(
    _ question: String, _ terminal: Int32, isHidden: Bool, until end: ContinuousClock.Instant?,
    wake: Wake?
  ) throws(SystemCallError) -> Outcome {
    var signals = sigset_t()
    var before = sigset_t()
    unsafe pthread_sigmask(SIG_BLOCK, nil, &before)
    unsafe sigemptyset(&signals)
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP] {
      // A signal that was blocked before is never delivered, and would stay pending forever.
      if unsafe sigismember(&before, signal) == 0 { unsafe _ = sigaddset(&signals, signal) }
    }
    unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
    // Runs last: a pending signal is delivered here, after echo is restored.
    defer { unsafe _ = pthread_sigmask(SIG_SETMASK, &before, nil) }
    let arrivals = unsafe signalfd(-1, &signals, Int32(SFD_CLOEXEC))
    guard arrivals >= 0 else { throw SystemCallError("signalfd", errno) }
    defer { close(arrivals) }

    var settings = termios()
    guard unsafe tcgetattr(terminal, &settings) == 0 else {
      throw SystemCallError("tcgetattr", errno)
    }
    if isHidden {
      var hidden = settings
      hidden.c_lflag &= ~tcflag_t(ECHO | ECHOE | ECHOK | ECHONL)
      unsafe tcsetattr(terminal, TCSAFLUSH, &hidden)
    }
    defer {
      if isHidden { unsafe _ = tcsetattr(terminal, TCSADRAIN, &settings) }
    }
    // The question comes after the setting, so that an answer to it is never echoed.
    try write(question, to: terminal)
    let outcome = try readLine(terminal, arrivals, until: end, wake: wake)
    switch outcome {
    case .answer(.timedOut), .answer(.woken):
      tcflush(terminal, TCIFLUSH)
      try write("\n", to: terminal)
    default: if isHidden { try write("\n", to: terminal) }
    }
    return outcome
  }

  private static func readLine(
    _ terminal: Int32, _ arrivals: Int32, until end: ContinuousClock.Instant?, wake: Wake?
  ) throws(SystemCallError) -> Outcome {
    let line = ByteBuffer(byteCount: 2 * (maximumTerminalLine + 2), isSecret: true)
    var byteCount = 0
    while byteCount < line.byteCount {
      var waiting = [
        pollfd(fd: terminal, events: Int16(POLLIN), revents: 0),
        pollfd(fd: arrivals, events: Int16(POLLIN), revents: 0),
        // `poll` ignores a negative descriptor.
        pollfd(fd: wake?.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
      ]
      let left = end.map { max(0, ($0 - .now) / .milliseconds(1)).rounded(.up) }
      let count = unsafe poll(
        &waiting, nfds_t(waiting.count), left.map { Int32(min($0, 1e9)) } ?? -1)
      guard count >= 0 else {
        if errno == EINTR { continue }
        throw SystemCallError("poll", errno)
      }
      if count == 0 { return .answer(.timedOut) }
      if waiting[1].revents != 0 { return .interrupted }
      if waiting[2].revents != 0 { return .answer(.woken) }
      let readCount = try read(terminal, into: line, byteCount..<line.byteCount)
      if readCount == 0 {
        return .answer(byteCount == 0 ? .ended : .line(line.secret(0..<byteCount)))
      }
      byteCount += readCount
      if line.load(UInt8.self, at: byteCount - 1) == UInt8(ascii: "\n") {
        return .answer(.line(line.secret(withoutPasteMarks(0..<byteCount - 1, of: line))))
      }
    }
    return .answer(.line(line.secret(0..<byteCount)))
  }

  /// Leaves out what a terminal sends before and after a pasted text, where another program has
  /// switched this on and not off again (DEC private mode 2004).
  ///
  /// It is not seen, and would become part of a secret. A line that the terminal may have cut
  /// is left as it is.
  private static func withoutPasteMarks(_ range: Range<Int>, of line: ByteBuffer) -> Range<Int> {
    guard range.count <= maximumTerminalLine else { return range }
    func has(_ mark: String.UTF8View, at start: Int) -> Bool {
      range.contains(start) && range.upperBound - start >= mark.count
        && zip(mark, start...).allSatisfy { line.load(UInt8.self, at: $1) == $0 }
    }
    let (begin, end) = ("\u{1B}[200~".utf8, "\u{1B}[201~".utf8)
    let text = range.dropFirst(has(begin, at: range.lowerBound) ? begin.count : 0)
    return text.dropLast(has(end, at: range.upperBound - end.count) ? end.count : 0)
  }

  /// A means to wake a thread that waits for a person.
  final class Wake: Sendable {
    let descriptor: Int32

    /// - Throws: An error if the process has no descriptor left.
    init() throws(SystemCallError) {
      descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
      guard descriptor >= 0 else { throw SystemCallError("eventfd", errno) }
    }

    /// Wakes the thread that waits, or the next one that does.
    func signal() {
      _ = eventfd_write(descriptor, 1)
    }

    /// Discards earlier signals.
    func clear() {
      var count: eventfd_t = 0
      unsafe _ = eventfd_read(descriptor, &count)
    }

    deinit {
      close(descriptor)
    }
  }
}
