package import Foundation
package import SessionToolsBase
import SessionToolsSecretService

/// The setting of a generator of one-time passwords that change with time.
///
/// Sources: RFC 6238 and RFC 4226; the Key Uri Format of Google Authenticator, which programs show
/// as QR codes.
package struct OneTimePassword {
  package enum Algorithm: String {
    case sha1 = "SHA1"
    case sha256 = "SHA256"
    case sha512 = "SHA512"

    fileprivate var messageCode: MessageCode {
      switch self {
      case .sha1: .sha1
      case .sha256: .sha256
      case .sha512: .sha512
      }
    }
  }

  /// What keeps a value from being such a setting.
  package struct Mistake: Error {
    /// What to write instead; it has nothing of the value in it.
    package let text: String
  }

  let key: [UInt8]
  var algorithm = Algorithm.sha1
  var digitCount = 6
  /// How long a password is valid, in seconds.
  var period: UInt64 = 30

  /// Reads a value: an address `otpauth://totp/…`, also in a line of a longer text as `pass otp`
  /// stores it, or the key alone in Base32.
  package init(_ value: SecretBytes) throws(Mistake) {
    guard let text = value.copyText() else { throw Mistake(text: "the value is not text") }
    let address = text.split(whereSeparator: \.isNewline)
      .map { $0.trimmingCharacters(in: .whitespaces) }.first {
        $0.lowercased().hasPrefix("otpauth:") || $0.lowercased().hasPrefix("steam:")
      }
    guard let address else {
      key = try Self.key(text)
      return
    }
    guard let components = URLComponents(string: address) else {
      throw Mistake(text: "the otpauth address cannot be read")
    }
    let isOfSteam =
      components.scheme?.lowercased() == "steam" || components.host?.lowercased() == "steam"
    guard !isOfSteam else { throw Self.steam }
    guard components.host?.lowercased() == "totp" else {
      throw Mistake(text: "only passwords that change with time (otpauth://totp/) are supported")
    }
    var fields: [String: String] = [:]
    for item in components.queryItems ?? [] {
      let isKnown = fields.updateValue(item.value ?? "", forKey: item.name.lowercased()) != nil
      guard !isKnown, !item.name.lowercased().hasPrefix("amp;") else {
        throw Mistake(
          text: "a field of the otpauth address is there twice, or has &amp; in front of it")
      }
    }
    fields = fields.filter { !$0.value.isEmpty }
    guard ![fields["encoder"], fields["issuer"]].contains(where: { $0?.lowercased() == "steam" }),
      fields["digits"]?.lowercased() != "s"
    else { throw Self.steam }
    guard let secret = fields["secret"] else {
      throw Mistake(text: "the otpauth address has no secret")
    }
    key = try Self.key(secret)
    if let name = fields["algorithm"] {
      let short = name.uppercased().replacing("HMAC", with: "").replacing("-", with: "")
      guard let found = Algorithm(rawValue: short) else {
        throw Mistake(text: "the algorithm is SHA1, SHA256 or SHA512")
      }
      algorithm = found
    }
    if let text = fields["digits"] {
      guard let count = Int(text), (6...8).contains(count) else {
        throw Mistake(text: "a password has 6 to 8 digits")
      }
      digitCount = count
    }
    if let text = fields["period"] {
      guard let seconds = UInt64(text), (1...86_400).contains(seconds) else {
        throw Mistake(text: "the period is 1 to 86400 seconds")
      }
      period = seconds
    }
  }

  private static var steam: Mistake {
    Mistake(text: "codes of Steam, which are letters, are not supported")
  }

  /// Returns the password at a time.
  package func password(at time: Date) -> String {
    let counter = UInt64(max(0, time.timeIntervalSince1970)) / period
    let message = (0..<8).map { UInt8(truncatingIfNeeded: counter >> (56 - 8 * $0)) }
    let digest = algorithm.messageCode.code(of: message, key: key)
    let offset = Int(digest[digest.count - 1] & 0x0f)
    let number =
      digest[offset..<offset + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7fff_ffff
    let limit = (0..<digitCount).reduce(UInt32(1)) { limit, _ in limit * 10 }
    let digits = String(number % limit)
    return String(repeating: "0", count: digitCount - digits.count) + digits
  }

  /// Reads Base32 (RFC 4648), in any case of letters, with or without padding, spaces and hyphens.
  private static func key(_ text: String) throws(Mistake) -> [UInt8] {
    var (bits, bitCount) = (UInt32(0), 0)
    var key: [UInt8] = []
    for byte in text.utf8 {
      let value: UInt32
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = UInt32(byte - UInt8(ascii: "A"))
      case UInt8(ascii: "a")...UInt8(ascii: "z"): value = UInt32(byte - UInt8(ascii: "a"))
      case UInt8(ascii: "2")...UInt8(ascii: "7"): value = UInt32(byte - UInt8(ascii: "2")) + 26
      case UInt8(ascii: "="), UInt8(ascii: " "), UInt8(ascii: "-"), UInt8(ascii: "\n"),
        UInt8(ascii: "\r"), UInt8(ascii: "\t"):
        continue
      default:
        throw Mistake(
          text: "the value is not a key in Base32, nor an address that begins with otpauth://totp/")
      }
      (bits, bitCount) = (bits << 5 | value, bitCount + 5)
      if bitCount >= 8 {
        bitCount -= 8
        key.append(UInt8(truncatingIfNeeded: bits >> bitCount))
      }
    }
    guard !key.isEmpty else { throw Mistake(text: "the key is empty") }
    return key
  }
}
