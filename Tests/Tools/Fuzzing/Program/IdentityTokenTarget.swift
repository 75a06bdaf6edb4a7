import Foundation
import SessionToolsBase
import SessionToolsFuzzTargets
import WebLogin

/// An identity token that a login server sends.
///
/// The first byte chooses how the input is read: as the token itself, or as a header, a payload and
/// a signature, each up to a zero, which are then encoded.
enum IdentityTokenTarget {
  private static let now = Date(timeIntervalSince1970: 1_800_000_000)
  private static let check = IdentityCheck(
    issuer: "https://a.example", clientID: "app", trustedAudiences: ["friend"],
    nonce: .of(SecretBytes(utf8: "n")), now: now)

  static func check(_ bytes: [UInt8]) throws {
    let text = Self.text(bytes)
    let token: IdentityToken
    do throws(IdentityFault) {
      token = try IdentityToken(text)
      try check.check(token)
    } catch {
      return try require(
        error.text.utf8.allSatisfy { (0x20...0x7E).contains($0) } && error.text.count < 100,
        "the fault quotes the token: \(error)")
    }
    try require(text.utf8.count <= IdentityToken.maximumByteCount, "the token is too large")
    // Another reader of JSON finds the same claims, unless it refuses them all for one that is not
    // read here.
    guard let object = try? JSONSerialization.jsonObject(with: token.payload) else { return }
    guard let claims = object as? [String: Any] else { throw Finding("the claims are no object") }
    try require(claims["iss"] as? String == "https://a.example", "another issuer")
    try require(claims["sub"] as? String == token.subject, "another subject")
    try require(claims["nonce"] as? String == "n", "another nonce")
    let audiences = claims["aud"] as? [String] ?? [claims["aud"] as? String ?? ""]
    try require(
      audiences.contains("app") && Set(audiences).isSubset(of: ["app", "friend"]),
      "for \(audiences)")
    try require(["app", nil].contains(claims["azp"] as? String), "issued to another client")
    try require(
      token.subject.utf8.allSatisfy { (0x20...0x7E).contains($0) } && !token.subject.isEmpty,
      "a subject of \(Array(token.subject.utf8))")
    let (issued, end) = (claims["iat"] as? Double ?? 0, claims["exp"] as? Double ?? 0)
    try require(
      (1_799_999_400..<1_800_000_060).contains(issued) && end > 1_799_999_940,
      "issued at \(issued), until \(end)")
  }

  private static func text(_ bytes: [UInt8]) -> String {
    var input = FuzzInput(bytes)
    guard input.byte() % 2 == 1 else { return String(decoding: input.remaining(), as: UTF8.self) }
    let (header, payload) = (input.bytes(upTo: 0), input.bytes(upTo: 0))
    return [header, payload, input.remaining()].map { part in
      Data(part).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
        .replacing("=", with: "")
    }.joined(separator: ".")
  }
}
