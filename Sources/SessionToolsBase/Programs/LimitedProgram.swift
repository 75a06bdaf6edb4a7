import Glibc

/// A program that is run to its end for what it writes, with limits to how much and how long.
///
/// What it reads may come from others: a few kilobytes can make it write gigabytes, or complain for
/// ever.
package struct LimitedProgram: Sendable {
  /// How it ended.
  package enum Ending: Sendable {
    /// It ended by itself.
    ///
    /// The status is `nil` when nobody knows it. Of what it complained about there is the end.
    case ended(status: Int32?, output: SecretBytes, complaint: String)
    /// It was ended, because it wrote more than it may.
    case wroteTooMuch
    /// It was ended, because it took too long.
    case tookTooLong
  }

  /// How much of what it complains about is kept.
  private static let complaintByteCount = 4096
  private static let pageByteCount = 1 << 16

  /// Its name, found by `PATH`.
  package let name: String
  /// Its arguments, which everybody on the machine can read.
  package let arguments: [String]
  /// What it gets as its input; at most some thousand bytes, which need no reader to be written.
  package var input: [UInt8] = []
  /// The most bytes it may write.
  package let largestOutputByteCount: Int
  /// How long it may take.
  package let timeout: Duration

  /// Describes one.
  package init(
    _ name: String, _ arguments: [String], largestOutputByteCount: Int, timeout: Duration
  ) {
    self.name = name
    self.arguments = arguments
    self.largestOutputByteCount = largestOutputByteCount
    self.timeout = timeout
  }

  /// Runs it; blocks the thread.
  ///
  /// - Throws: What keeps it from being started, such as `ENOENT` of `posix_spawnp`.
  package func run() throws(SystemCallError) -> Ending {
    let deadline = ContinuousClock.now + timeout
    let output = try Channel()
    let errors = try Channel()
    let fed = input.isEmpty ? nil : try Channel()
    let program = try StartedProgram(
      name, arguments,
      streams: StartedProgram.Streams(
        input: fed?.theirs.descriptor, output: output.theirs.descriptor,
        errors: errors.theirs.descriptor))
    for channel in [output, errors, fed].compactMap(\.self) { channel.theirs.close() }
    if let fed {
      fed.ours.send(input)
      fed.ours.close()
    }
    var reading = Reading(output: output.ours, errors: errors.ours, largest: largestOutputByteCount)
    let stop = reading.read(until: deadline, of: program)
    guard stop == nil else {
      program.end()
      _ = program.wait()
      return stop == .tooMuch ? .wroteTooMuch : .tookTooLong
    }
    return .ended(
      status: program.wait(), output: reading.content.secret(0..<reading.byteCount),
      complaint: String(decoding: reading.complaint, as: UTF8.self))
  }

  private enum Stop {
    case tooMuch, tooLong
  }

  /// What is read of a program, from both of its outputs in turn: it never waits for one of them to be
  /// read while the other one is waited for.
  private struct Reading {
    let output: Channel.End
    let errors: Channel.End
    let largest: Int
    /// Wiped memory: what is decrypted goes through it.
    var content = ByteBuffer(byteCount: 1 << 12, isSecret: true)
    var byteCount = 0
    var complaint: [UInt8] = []
    private var isOutputOpen = true
    private var areErrorsOpen = true
    private let page = ByteBuffer(byteCount: LimitedProgram.pageByteCount, isSecret: true)

    init(output: Channel.End, errors: Channel.End, largest: Int) {
      self.output = output
      self.errors = errors
      self.largest = largest
    }

    mutating func read(until deadline: ContinuousClock.Instant, of program: StartedProgram) -> Stop?
    {
      while isOutputOpen || areErrorsOpen || !program.hasEnded {
        guard ContinuousClock.now < deadline else { return .tooLong }
        // What it has started may have the descriptors longer than it runs.
        let wasRunning = !program.hasEnded
        let hasRead = step(until: deadline)
        if byteCount > largest { return .tooMuch }
        if !hasRead, !wasRunning { return nil }
      }
      return nil
    }

    /// Reads what there is, or waits for it for a moment; whether there was anything.
    private mutating func step(until deadline: ContinuousClock.Instant) -> Bool {
      var polled = [
        // One below zero is passed over.
        pollfd(fd: isOutputOpen ? output.descriptor : -1, events: Int16(POLLIN), revents: 0),
        pollfd(fd: areErrorsOpen ? errors.descriptor : -1, events: Int16(POLLIN), revents: 0),
      ]
      // Short, because no descriptor says that the program has ended, which one without outputs is
      // about to do.
      let left = min(
        max((deadline - .now) / .milliseconds(1), 0), isOutputOpen || areErrorsOpen ? 20 : 1)
      guard unsafe poll(&polled, nfds_t(polled.count), Int32(left.rounded(.up))) > 0 else {
        return false
      }
      if polled[0].revents != 0 { readOutput() }
      if polled[1].revents != 0 { readErrors() }
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
  }
}

/// A way for bytes between this process and a program.
///
/// Sockets, because writing to a pipe that has no reader any more ends the process; closed with the last
/// of their users, and inherited by no program by themselves.
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
      // One that has ended already wants no input.
      _ = unsafe Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
    }

    /// How much has come; 0 at the end.
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
