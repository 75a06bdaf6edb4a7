/// What a session of a program keeps, 512 bytes as JSON.
public struct Profile: Codable, Sendable {
  /// Who it is.
  public let name: String
  /// Where mail goes.
  public let address: String
  /// When it was made, in seconds since 1970.
  public let made: Int
  /// What the service gave.
  public let accessToken: String
  /// What renews it.
  public let refreshToken: String
  /// What it is good for.
  public let scopes: [String]

  /// The one profile that is measured.
  public static let example = Profile(
    name: "Ada Lovelace", address: "ada@example.com", made: 1_700_000_000,
    accessToken: String(repeating: "a1B2", count: 48),
    refreshToken: String(repeating: "c3", count: 85),
    scopes: ["mail.read", "mail.send", "calendar"])
}
