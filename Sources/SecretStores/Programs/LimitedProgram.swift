import Glibc

/// A program that is run to its end for its output, with limits on size and time.
///
/// Its input may come from others: a few kilobytes can make it write gigabytes, or complain
/// forever.
package struct LimitedProgram: Sendable {
  /// How the program ended.
  package enum Ending: Sendable {
    /// It ended by itself.
    ///
    /// The status is `nil` when it is unknown. The complaint is the end of its error output.
    case ended(status: Int32?, output: SecretBytes, complaint: String)
    /// It was killed, because it wrote more than allowed.
    case wroteTooMuch
    /// It was killed, because it took too long.
    case tookTooLong
    /// It was killed, because it asks on the terminal, which it may only do in the foreground.
    case wantedTerminal
  }

  /// How much of its error output is kept.
  private static let complaintByteCount = 4096
  /// How much of its report is kept.
  private static let reportByteCount = 1 << 16
  private static let pageByteCount = 1 << 16

  /// The program's name, found by `PATH`.
  package let name: String
  /// The program's arguments, which every user of the machine can read.
  package let arguments: [String]
  /// The program's input; at most some thousand bytes, which can be written without a reader.
  package var input: [UInt8] = []
  /// Variables added to those of this process.
  package var environment: [String: String] = [:]
  /// Returns whether the program is to end, as when it takes too long.
  package var isCancelled: @Sendable () -> Bool = { false }
  /// How long the program may take to put back what it changed, such as a terminal, when it is to
  /// end; it is killed after that.
  package var timeToEnd = Duration.zero
  /// Where the program runs.
  package var place = StartedProgram.Place.ownGroup
  /// The most bytes the program may write.
  package let maximumOutputByteCount: Int
  /// How long the program may run.
  package let timeout: Duration

  /// Describes a program to run.
  package init(
    _ name: String, _ arguments: [String], maximumOutputByteCount: Int, timeout: Duration
  ) {
    self.name = name
    self.arguments = arguments
    self.maximumOutputByteCount = maximumOutputByteCount
    self.timeout = timeout
  }

  /// Runs the program; blocks the thread.
  ///
  /// - Throws: An error that keeps it from being started, such as `ENOENT` of `posix_spawnp`.
  package func run() throws(SystemCallError) -> Ending {
    try run(reporting: nil).ending
  }

  /// Runs a program that writes a report for programs to its descriptor 3; blocks the thread.
  ///
  /// - Returns: How it ended, and the beginning of its report.
  /// - Throws: As ``run()``.
  package func runForReport() throws(SystemCallError) -> (ending: Ending, report: String) {
    try run(reporting: try Channel())
  }

  private func run(
    reporting report: Channel?
  ) throws(SystemCallError) -> (ending: Ending, report: String) {
    let deadline = ContinuousClock.now + timeout
    let output = try Channel()
    let errors = try Channel()
    let fed = input.isEmpty ? nil : try Channel()
    let program = try StartedProgram(
      name, arguments, environment: environment,
      streams: StartedProgram.Streams(
        input: fed?.theirs.descriptor, output: output.theirs.descriptor,
        errors: errors.theirs.descriptor, shared: report?.theirs.descriptor),
      place: place)
    for channel in [output, errors, fed, report].compactMap(\.self) { channel.theirs.close() }
    if let fed {
      fed.ours.send(input)
      fed.ours.close()
    }
    var reading = Reading(
      output: output.ours, errors: errors.ours, report: report?.ours,
      largest: maximumOutputByteCount)
    let stop = reading.read(until: deadline, of: program, unless: isCancelled)
    let text = String(decoding: reading.report, as: UTF8.self)
    if let stop {
      if timeToEnd > .zero {
        program.askToEnd()
        let end = ContinuousClock.now + timeToEnd
        while !program.hasEnded, ContinuousClock.now < end { _ = poll(nil, 0, 5) }
      }
      program.end()
      _ = program.wait()
      return (stop, text)
    }
    let ending = Ending.ended(
      status: program.wait(), output: reading.content.secret(0..<reading.byteCount),
      complaint: String(decoding: reading.complaint, as: UTF8.self))
    return (ending, text)
  }

  /// The reading of all of a program's outputs, as data arrives: it never waits for one while
  /// another can be read.
  private struct Reading {
    let output: Channel.End
    let errors: Channel.End
    let reportEnd: Channel.End?
    let largest: Int
    /// Wiped memory, because decrypted output passes through it.
    var content = ByteBuffer(byteCount: 1 << 12, isSecret: true)
    var byteCount = 0
    var complaint: [UInt8] = []
    var report: [UInt8] = []
    private var isOutputOpen = true
    private var areErrorsOpen = true
    private var isReportOpen: Bool
    private let page = ByteBuffer(byteCount: LimitedProgram.pageByteCount, isSecret: true)

    init(output: Channel.End, errors: Channel.End, report: Channel.End?, largest: Int) {
      self.output = output
      self.errors = errors
      reportEnd = report
      isReportOpen = report != nil
      self.largest = largest
    }

    /// Reads to the program's end; returns why it must be killed before, if so.
    mutating func read(
      until deadline: ContinuousClock.Instant, of program: StartedProgram,
      unless isCancelled: () -> Bool
    ) -> Ending? {
      while isOutputOpen || areErrorsOpen || isReportOpen || !program.hasEnded {
        guard ContinuousClock.now < deadline, !isCancelled() else { return .tookTooLong }
        // Programs that it started may hold the descriptors open after it ends.
        let wasRunning = !program.hasEnded
        let hasRead = step(until: deadline)
        if byteCount > largest { return .wroteTooMuch }
        if !hasRead, !wasRunning { return nil }
        if !hasRead, program.isStopped { return .wantedTerminal }
      }
      return nil
    }

    /// Reads available output, or waits a moment for some; returns whether there was any.
    private mutating func step(until deadline: ContinuousClock.Instant) -> Bool {
      var polled = [
        // A negative descriptor is skipped.
        pollfd(fd: isOutputOpen ? output.descriptor : -1, events: Int16(POLLIN), revents: 0),
        pollfd(fd: areErrorsOpen ? errors.descriptor : -1, events: Int16(POLLIN), revents: 0),
        pollfd(
          fd: isReportOpen ? reportEnd?.descriptor ?? -1 : -1, events: Int16(POLLIN), revents: 0),
      ]
      // Short, because no descriptor reports the program's end, and a program whose outputs are
      // closed is about to end.
      let left = min(
        max((deadline - .now) / .milliseconds(1), 0), isOutputOpen || areErrorsOpen ? 20 : 1)
      guard unsafe poll(&polled, nfds_t(polled.count), Int32(left.rounded(.up))) > 0 else {
        return false
      }
      if polled[0].revents != 0 { readOutput() }
      if polled[1].revents != 0 { readErrors() }
      if polled[2].revents != 0 { readReport() }
      return true
    }

    private mutating func readOutput() {
      let count = output.read(into: page, atMost: min(page.byteCount, largest + 1 - byteCount))
      isOutputOpen = count > 0
      if byteCount + count > content.byteCount {
        let larger = ByteBuffer(
          byteCount: max(byteCount + count, content.byteCount * 2), isSecret: true)
        larger.copy(content, 0..<byteCount, to: 0)
        content = larger
      }
      content.copy(page, 0..<count, to: byteCount)
      byteCount += count
    }

    private mutating func readErrors() {
      let count = errors.read(into: page, atMost: page.byteCount)
      areErrorsOpen = count > 0
      complaint = Array(
        (complaint + page.bytes(0..<count)).suffix(LimitedProgram.complaintByteCount))
    }

    private mutating func readReport() {
      let count = reportEnd?.read(into: page, atMost: page.byteCount) ?? 0
      isReportOpen = count > 0
      report += page.bytes(0..<min(count, LimitedProgram.reportByteCount - report.count))
    }
  }
}

/// A connection for bytes between this process and a program.
///
/// A pair of sockets, because writing to a pipe without a reader kills the process. Each end is
/// closed with its last reference, and programs do not inherit it by default.
private struct Channel {
  final class End {
    private(set) var descriptor: Int32

    init(_ descriptor: Int32) {
      self.descriptor = descriptor
    }

    deinit {
      close()
    }

    func close() {
      if descriptor >= 0 { _ = Glibc.close(descriptor) }
      descriptor = -1
    }

    func send(_ bytes: [UInt8]) {
      // A program that has already ended needs no input.
      _ = unsafe Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
    }

    /// Reads the available bytes, and returns how many; 0 at the end.
    func read(into buffer: ByteBuffer, atMost byteCount: Int) -> Int {
      while true {
        let count = unsafe recv(descriptor, buffer.pointer(to: 0..<byteCount), byteCount, 0)
        if count >= 0 || errno != EINTR { return max(count, 0) }
      }
    }
  }

  let ours: End
  let theirs: End

  init() throws(SystemCallError) {
    var ends: [Int32] = [0, 0]
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    guard unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
      throw SystemCallError("socketpair", errno)
    }
    ours = End(ends[0])
    theirs = End(ends[1])
  }
}
