import Dispatch
import Foundation
import SessionToolsBase

extension DeviceAuthorization {
  /// Returns the text for a terminal: the address, the code, and a QR code of both if possible.
  ///
  /// The program `qrencode` makes the QR code, where it is installed, within some seconds; it
  /// receives the address on its standard input. Everything else is plain text without control
  /// characters.
  ///
  /// - Parameter withQRCode: Whether to add a QR code; the terminal must show UTF-8.
  /// - Returns: Lines of text.
  public func terminalText(withQRCode: Bool = true) async -> String {
    var lines = [
      "On another device, open", "", "  \(verificationAddress.absoluteString)", "",
      "and enter the code", "", "  \(userCode)", "",
    ]
    let address = completeVerificationAddress ?? verificationAddress
    if withQRCode, let code = await QRCode.text(of: address.absoluteString) {
      lines += ["or scan", "", code]
    }
    return lines.joined(separator: "\n")
  }
}

/// QR codes as text, made by `qrencode`.
enum QRCode {
  private static let timeout = Duration.seconds(5)

  /// Returns two rows of the code in each line; `nil` when there is no such program, or it fails.
  static func text(of content: String) async -> String? {
    var program = LimitedProgram(
      "qrencode", ["-t", "UTF8", "-m", "2"], maximumOutputByteCount: 1 << 16, timeout: timeout)
    // The content goes through standard input, because every user can read its arguments.
    program.input = Array(content.utf8)
    let ending = await withCheckedContinuation { continuation in
      // A separate queue has a separate thread, which may block.
      DispatchQueue(label: "session-tools.program").async { [program] in
        continuation.resume(returning: try? program.run())
      }
    }
    guard case .ended(status: 0, let written, _) = ending else { return nil }
    let output = String(decoding: written.copyBytes(), as: UTF8.self)
    // Only the expected characters may reach the terminal.
    guard output.unicodeScalars.allSatisfy({ "█▀▄ \n".unicodeScalars.contains($0) }),
      !output.isEmpty
    else { return nil }
    return output
  }
}
