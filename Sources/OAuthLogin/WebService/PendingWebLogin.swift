import Foundation

/// What a web service must remember of a login until the browser comes back.
///
/// It is only in the browser, sealed. Names are short because browsers limit cookies.
struct PendingWebLogin: Codable {
  /// In seconds.
  static let lifetime = 600
  /// How far the clocks of two machines of the service may differ, in seconds.
  private static let leeway: TimeInterval = 60

  let state: String
  let verifier: String
  let nonce: String?
  /// The endpoint that the server had when the login began: a code is sent to no other (RFC 9700,
  /// section 4.4.2).
  let tokenEndpoint: URL
  /// Whether the server promised then to name itself (RFC 9207).
  let namesItself: Bool
  let scopes: [String]
  let returnTo: String
  /// The digest of the user that was logged in already.
  let user: String?
  /// How long ago the person may have authenticated, in seconds.
  let maximumAge: Int?
  /// In seconds since 1970.
  let begin: Int

  private enum CodingKeys: String, CodingKey {
    case state = "s"
    case verifier = "v"
    case nonce = "n"
    case tokenEndpoint = "t"
    case namesItself = "i"
    case scopes = "o"
    case returnTo = "r"
    case user = "u"
    case maximumAge = "a"
    case begin = "b"
  }

  /// Returns a text of fixed length for a user's name, which may be long.
  static func digest(of user: String) -> String {
    String(decoding: Base64URL.encode(Sodium.sha256(Array(user.utf8))), as: UTF8.self)
  }

  /// Returns whether the login is neither too old nor, by more than clocks differ, of the future.
  func isValid(at now: Date) -> Bool {
    let age = now.timeIntervalSince1970 - TimeInterval(begin)
    return age >= -Self.leeway && age < TimeInterval(Self.lifetime) + Self.leeway
  }

  /// The earliest time at which the person may have authenticated.
  var authenticatedAfter: Date? {
    maximumAge.map { Date(timeIntervalSince1970: TimeInterval(begin) - TimeInterval($0)) }
  }
}
