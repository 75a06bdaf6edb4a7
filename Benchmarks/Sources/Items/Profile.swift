/// An item as an app's session stores it, 512 bytes as JSON.
public struct Profile: Codable, Sendable {
  /// The user's name.
  public let name: String
  /// The user's mail address.
  public let address: String
  /// The time of creation, in seconds since 1970.
  public let made: Int
  /// The access token from the service.
  public let accessToken: String
  /// The token that renews the access token.
  public let refreshToken: String
  /// The scopes that the tokens grant.
  public let scopes: [String]

  /// The profile that is measured.
  public static let example = Profile(
    name: "Ada Lovelace", address: "ada@example.com", made: 1_700_000_000,
    accessToken: String(repeating: "a1B2", count: 48),
    refreshToken: String(repeating: "c3", count: 85),
    scopes: ["mail.read", "mail.send", "calendar"])
}
