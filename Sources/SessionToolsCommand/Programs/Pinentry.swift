import Foundation
import SessionToolsBase

/// A question for a passphrase by the `pinentry` program, where another program's user is.
///
/// Source: the documentation of pinentry, Protocol; Assuan's rules for lines and escapes.
struct Pinentry {
  /// How long a person may take.
  private static let patience = Duration.seconds(120)

  /// The other program, for the person.
  let client: String
  /// The variables of the other program that say where its user is.
  private let environment: [String: String]
  private let terminal: String?
  /// The programs to ask with; the next one if one cannot ask there.
  private let programs: [String]

  /// Finds where the user of a process is.
  ///
  /// - Returns: `nil` if the process has neither a display nor a terminal, or there is no pinentry
  ///   for it.
  init?(ofProcess process: Int32) {
    let name = FileManager.default.contents(atPath: "/proc/\(process)/comm")
    client =
      name.map { name in
        let name = String(decoding: name, as: UTF8.self).split(separator: "\n").first ?? ""
        return "\(name) (process \(process))"
      } ?? "A program"
    environment = Self.environment(of: process)
    terminal = Self.terminal(of: process)
    let hasDisplay = environment["DISPLAY"] ?? environment["WAYLAND_DISPLAY"] != nil
    // Debian's pinentry may be one that asks on a desktop only.
    programs =
      ((hasDisplay ? ["pinentry"] : [])
      + (terminal == nil ? [] : ["pinentry-curses", "pinentry-tty"])
      + (hasDisplay ? [] : ["pinentry"])).filter { Files.program($0) != nil }
    guard hasDisplay || terminal != nil, !programs.isEmpty else { return nil }
  }

  /// The passphrase, or why there was no answer.
  enum Answer {
    case passphrase(SecretBytes)
    /// The person has dismissed the question, or not answered it in time.
    case dismissed
    /// No program could ask, for the last one's reason.
    case failed(String)
  }

  /// Asks; blocks the thread.
  ///
  /// - Parameters:
  ///   - description: What the passphrase is for.
  ///   - error: Why the last answer was not accepted, if there was one.
  ///   - isCancelled: Returns whether the question is to end.
  /// - Returns: The answer.
  func ask(
    _ description: String, error: String?, isCancelled: @escaping @Sendable () -> Bool
  ) -> Answer {
    var lines = ["SETTITLE session-tools", "SETDESC \(Self.escaped(description))"]
    lines += ["SETPROMPT Passphrase:", "SETTIMEOUT \(Self.patience.components.seconds)"]
    if let terminal { lines.append("OPTION ttyname=\(terminal)") }
    if let type = environment["TERM"] { lines.append("OPTION ttytype=\(Self.escaped(type))") }
    if let error { lines.append("SETERROR \(Self.escaped(error))") }
    lines += ["GETPIN", "BYE", ""]
    var answer = Answer.dismissed
    for name in programs {
      var program = LimitedProgram(
        name, [], maximumOutputByteCount: 1 << 16, timeout: Self.patience + .seconds(10))
      program.input = Array(lines.joined(separator: "\n").utf8)
      program.environment = environment
      // In the background of the service's own terminal, the kernel would stop it.
      program.place = .ownSession
      program.isCancelled = isCancelled
      // Killed, it leaves a terminal without echo, and its own picture in place of the screen.
      program.timeToEnd = .seconds(1)
      answer = Self.answer(of: program)
      guard case .failed = answer else { return answer }
    }
    return answer
  }

  private static func answer(of program: LimitedProgram) -> Answer {
    do throws(SystemCallError) {
      guard case .ended(_, let output, _) = try program.run() else { return .dismissed }
      return answer(in: output, of: program.name)
    } catch {
      return .failed("\(program.name): \(CurrentProcess.message(for: error.errno))")
    }
  }

  /// The codes of libgpg-error for a person who does not answer: timeout, cancelled, and cancelled
  /// together with all that follows.
  private static let dismissals: Set = [62, 99, 198]

  private static func answer(in output: SecretBytes, of name: String) -> Answer {
    output.withBytes { bytes in
      unsafe bytes.withUnsafeBytes { bytes in
        let lines = unsafe bytes.split(separator: UInt8(ascii: "\n"))
        if let line = unsafe lines.last(where: { unsafe $0.starts(with: "D ".utf8) }) {
          return unsafe .passphrase(
            unescaped(UnsafeRawBufferPointer(rebasing: line.dropFirst(2))))
        }
        // Without data, nothing that is secret.
        let texts = unsafe lines.map { unsafe String(decoding: $0, as: UTF8.self) }
        guard let refusal = texts.last(where: { $0.hasPrefix("ERR ") }) else {
          // An empty answer has no line of data.
          return texts.count(where: { $0.hasPrefix("OK") }) > 1
            ? .passphrase(SecretBytes([])) : .failed("\(name) ended without an answer")
        }
        let code = refusal.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return dismissals.contains(code & 0xffff) ? .dismissed : .failed("\(name): \(refusal)")
      }
    }
  }

  private static func unescaped(_ bytes: UnsafeRawBufferPointer) -> SecretBytes {
    SecretBytes(capacity: bytes.count) { output in
      var position = 0
      while position < bytes.count {
        var byte = unsafe bytes[position]
        if byte == UInt8(ascii: "%"), position + 2 < bytes.count,
          let high = unsafe digit(bytes[position + 1]), let low = unsafe digit(bytes[position + 2])
        {
          byte = high << 4 | low
          position += 2
        }
        output.append(byte)
        position += 1
      }
    }
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    Character(UnicodeScalar(byte)).hexDigitValue.map { UInt8($0) }
  }

  private static func escaped(_ text: String) -> String {
    text.replacing("%", with: "%25").replacing("\n", with: "%0A").escapingControls()
  }

  /// The variables of another process that say where its user is.
  private static func environment(of process: Int32) -> [String: String] {
    // A process of another user, or one that has ended, has none that can be read.
    let content = FileManager.default.contents(atPath: "/proc/\(process)/environ") ?? Data()
    var found: [String: String] = [:]
    for entry in content.split(separator: 0) {
      let parts = String(decoding: entry, as: UTF8.self).split(separator: "=", maxSplits: 1)
      if parts.count == 2,
        ["DISPLAY", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "WAYLAND_DISPLAY", "XAUTHORITY"]
          .contains(parts[0])
      {
        found[String(parts[0])] = String(parts[1])
      }
    }
    return found
  }

  /// The terminal that controls another process.
  ///
  /// Source: proc_pid_stat(5), `tty_nr`; the kernel's Documentation/admin-guide/devices.txt.
  private static func terminal(of process: Int32) -> String? {
    guard let text = FileManager.default.contents(atPath: "/proc/\(process)/stat"),
      let fields = String(decoding: text, as: UTF8.self).split(separator: ")").last?
        .split(separator: " "), fields.count > 4, let device = Int(fields[4]), device != 0
    else { return nil }
    let (major, minor) = (device >> 8 & 0xfff, device & 0xff | device >> 12 & 0xfff00)
    return switch major {
    case 4: "/dev/tty\(minor)"
    case 136...143: "/dev/pts/\((major - 136) * 256 + minor)"
    default: nil
    }
  }
}
