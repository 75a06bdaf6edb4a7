import Foundation
import SealedStore
import SessionToolsBase

/// A text that may or may not be the reference of a security key or of a recipient.
enum ReferenceTarget {
  static func check(_ bytes: [UInt8]) throws {
    var input = FuzzInput(bytes)
    switch input.byte() % 3 {
    case 0: try check(String(decoding: input.remaining(), as: UTF8.self))
    case 1: try check("fido2:" + encoded(input.remaining()))
    default: try check("x25519:" + encoded(input.remaining()))
    }
  }

  private static func check(_ text: String) throws {
    let parameters = KeySlot.Parameters.namedKey(reference: text)
    let securityKey = SecurityKeySlot(parameters)
    let recipient = RecipientSlot(parameters)
    try require((securityKey != nil) == isSecurityKey(text), "\(text): \(securityKey as Any)")
    try require((recipient != nil) == isRecipient(text), "\(text): \(recipient as Any)")
    for written in [securityKey?.parameters, recipient?.parameters].compactMap(\.self) {
      guard case .namedKey(let again) = written else { throw Finding("no named key: \(text)") }
      try require(again.utf8.elementsEqual(text.utf8), "\(text) is written as \(again)")
    }
    let description = "\(parameters)"
    let isKeyring = text.utf8.starts(with: "secret-service:".utf8)
    try require(!description.isEmpty, "\(text) has no description")
    try require(isKeyring || description.utf8.count < 1000, "\(text) is described as it is")
  }

  // MARK: - The format's description once more

  private static func isSecurityKey(_ text: String) -> Bool {
    guard let bytes = decoded(text, "fido2:"), bytes.count >= 36, bytes[0] == 1, bytes[1] <= 1
    else { return false }
    let count = Int(bytes.integer(at: 34, byteCount: 2))
    return 1...1023 ~= count && bytes.count >= 36 + count && isLabel(bytes[(36 + count)...])
  }

  private static func isRecipient(_ text: String) -> Bool {
    guard let bytes = decoded(text, "x25519:"), bytes.count >= 113, bytes[0] == 1 else {
      return false
    }
    return isLabel(bytes[113...])
  }

  private static func isLabel(_ bytes: ArraySlice<UInt8>) -> Bool {
    bytes.count <= 64 && String(decoding: bytes, as: UTF8.self).utf8.elementsEqual(bytes)
  }

  private static func decoded(_ text: String, _ scheme: String) -> [UInt8]? {
    guard text.utf8.starts(with: scheme.utf8) else { return nil }
    let content = Array(text.utf8.dropFirst(scheme.utf8.count))
    let standard = String(decoding: content, as: UTF8.self).replacing("-", with: "+")
      .replacing("_", with: "/")
    let padding = String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4)
    guard let data = Data(base64Encoded: standard + padding) else { return nil }
    // Another encoding of the same bytes would decode, too.
    return encoded(Array(data)).utf8.elementsEqual(content) ? Array(data) : nil
  }

  private static func encoded(_ bytes: [UInt8]) -> String {
    Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
      .replacing("=", with: "")
  }
}
