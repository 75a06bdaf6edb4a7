import Foundation

/// An identity token to be, whose parts a test changes.
struct IdentityDraft: Sendable {
  /// Base64 for URLs, without padding.
  static func base64(_ bytes: Data) -> String {
    bytes.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
      .replacing("=", with: "")
  }

  var header = #"{"alg": "RS256", "kid": "1"}"#
  /// Names with their values as JSON, in order.
  private(set) var claims: [(name: String, value: String)]
  /// As it is written; `nil` for a token without that part.
  var signature: String? = "c2lnbmF0dXJl"
  /// Takes the place of the claims' JSON.
  var payload: Data?

  /// A token with no fault.
  init(nonce: String?, at now: Date) {
    let seconds = Int(now.timeIntervalSince1970)
    claims = [
      ("iss", #""https://a.example""#), ("sub", #""SECRET-subject""#), ("aud", #""app""#),
      ("exp", "\(seconds + 300)"), ("iat", "\(seconds)"), ("auth_time", "\(seconds)"),
      ("email", #""SECRET@mail.example""#),
    ]
    if let nonce { claims.append(("nonce", "\"\(nonce)\"")) }
  }

  /// The value of a claim as JSON; `nil` removes it.
  subscript(name: String) -> String? {
    get { claims.first { $0.name == name }?.value }
    set {
      let place = claims.firstIndex { $0.name == name } ?? claims.count
      claims.removeAll { $0.name == name }
      if let newValue { claims.insert((name, newValue), at: place) }
    }
  }

  /// Adds a claim, even if there is one of that name.
  mutating func append(_ name: String, _ value: String) {
    claims.append((name, value))
  }

  /// Moves a date.
  mutating func shift(_ name: String, by seconds: Int) {
    self[name] = self[name].flatMap { Int($0) }.map { "\($0 + seconds)" }
  }

  /// The claims as JSON.
  var object: String {
    "{\(claims.map { "\"\($0.name)\": \($0.value)" }.joined(separator: ", "))}"
  }

  var text: String {
    let parts = [Data(header.utf8), payload ?? Data(object.utf8)].map(Self.base64)
    return (parts + [signature].compactMap(\.self)).joined(separator: ".")
  }
}
