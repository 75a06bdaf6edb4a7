import SecretStores
/// Whether the user of an account is signed in; never the user.
public struct AccountState: Hashable, Sendable {
  /// The account.
  public let account: AccountIdentifier
  /// Whether its user is signed in.
  public let status: Status

  /// Whether a user is signed in.
  public enum Status: Hashable, Sendable {
    /// There is a user. The session reports whether the user can be decoded and is still valid.
    case signedIn
    /// The server permanently rejected the refresh of the user, who must sign in again.
    case rejected(RecordedRejection)
    /// There is no user; the account is listed because it has other items.
    case signedOut
  }
}

extension AccountState: CustomStringConvertible {
  /// The account and its status, for a person.
  public var description: String { "\(account): \(status)".escapingControls() }
}

extension AccountState.Status: CustomStringConvertible {
  /// Whether a user is signed in, for a person.
  public var description: String {
    switch self {
    case .signedIn: "signed in"
    case .rejected(let rejection): "signed out by the server: \(rejection)"
    case .signedOut: "signed out"
    }
  }
}
