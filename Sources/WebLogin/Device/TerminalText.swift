import Dispatch
import Foundation
import SessionToolsBase

extension DeviceAuthorization {
  /// What to show in a terminal: the address, the code, and a QR code of both if that can be made.
  ///
  /// The QR code is made by the program `qrencode`, where it is installed, within some seconds; it gets
  /// the address by its standard input. Everything else is plain text without control characters.
  ///
  /// - Parameter withQRCode: Whether a QR code is wanted: on a terminal that shows UTF-8.
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

  /// Two rows of the code in each line; `nil` when there is no such program, or it fails.
  static func text(of content: String) async -> String? {
    var program = LimitedProgram(
      "qrencode", ["-t", "UTF8", "-m", "2"], largestOutputByteCount: 1 << 16, timeout: timeout)
    // By its input, because everybody can read its arguments.
    program.input = Array(content.utf8)
    let ending = await withCheckedContinuation { continuation in
      // A queue of its own has a thread of its own, which may block.
      DispatchQueue(label: "session-tools.program").async { [program] in
        continuation.resume(returning: try? program.run())
      }
    }
    guard case .ended(status: 0, let written, _) = ending else { return nil }
    let output = String(decoding: written.copyBytes(), as: UTF8.self)
    // What goes to a terminal is what it should be.
    guard output.unicodeScalars.allSatisfy({ "█▀▄ \n".unicodeScalars.contains($0) }),
      !output.isEmpty
    else { return nil }
    return output
  }
}
