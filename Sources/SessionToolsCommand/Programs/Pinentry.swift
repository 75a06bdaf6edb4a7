import Foundation
import SessionToolsBase

/// A question for a passphrase by the `pinentry` program, where another program's user is.
///
/// Source: the documentation of pinentry, Protocol; Assuan's rules for lines and escapes.
struct Pinentry {
  /// How long a person may take.
  private static let patience = Duration.seconds(120)

  /// The display or terminal of the other program, for pinentry's environment.
  private let environment: [String: String]
  /// The terminal, for one without a display.
  private let terminal: String?

  /// Finds where the user of a process is.
  ///
  /// - Returns: `nil` if the process has neither a display nor a terminal, or pinentry is not
  ///   installed.
  init?(ofProcess process: Int32) {
    guard Files.program("pinentry") != nil else { return nil }
    let theirs = Self.environment(of: process)
    terminal = Self.terminal(of: process)
    guard terminal != nil || theirs["DISPLAY"] ?? theirs["WAYLAND_DISPLAY"] != nil else {
      return nil
    }
    environment = theirs
  }

  /// Asks; blocks the thread.
  ///
  /// - Parameters:
  ///   - description: What the passphrase is for.
  ///   - error: Why the last answer was not accepted, if there was one.
  ///   - isCancelled: Returns whether the question is to end.
  /// - Returns: The passphrase; `nil` if the person gave none.
  /// - Throws: As `LimitedProgram.run()`.
  func ask(
    _ description: String, error: String?, isCancelled: @escaping @Sendable () -> Bool
  ) throws(SystemCallError) -> SecretBytes? {
    var lines = ["SETTITLE session-tools", "SETDESC \(Self.escaped(description))"]
    lines += ["SETPROMPT Passphrase:", "SETTIMEOUT \(Self.patience.components.seconds)"]
    if let terminal { lines.append("OPTION ttyname=\(terminal)") }
    if let type = environment["TERM"] { lines.append("OPTION ttytype=\(Self.escaped(type))") }
    if let error { lines.append("SETERROR \(Self.escaped(error))") }
    lines += ["GETPIN", "BYE", ""]
    var program = LimitedProgram(
      "pinentry", [], maximumOutputByteCount: 1 << 16, timeout: Self.patience + .seconds(10))
    program.input = Array(lines.joined(separator: "\n").utf8)
    program.environment = environment
    program.isCancelled = isCancelled
    guard case .ended(_, let output, _) = try program.run() else { return nil }
    return Self.answer(in: output)
  }

  /// Returns the data in pinentry's answers; `nil` if there are no data.
  private static func answer(in output: SecretBytes) -> SecretBytes? {
    output.withBytes { bytes in
      unsafe bytes.withUnsafeBytes { bytes in
        unsafe bytes.split(separator: UInt8(ascii: "\n"))
          .last { unsafe $0.starts(with: "D ".utf8) }
          .map { unsafe unescaped(UnsafeRawBufferPointer(rebasing: $0.dropFirst(2))) }
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
