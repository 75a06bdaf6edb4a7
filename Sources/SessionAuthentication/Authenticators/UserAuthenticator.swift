/// A way to check whether the person in front of the program is the right one.
///
/// Most authenticators only answer yes or no, which is a presence check: after a no, the program
/// can still read everything that they guard. It is protection only where a secret is derived from
/// the person's input, as with ``PassphraseAuthenticator``.
public protocol UserAuthenticator: Sendable {
  /// How the person is authenticated.
  var method: AuthenticationMethod { get }

  /// Checks that the person could be asked now, without asking; may wait for system services.
  ///
  /// - Throws: The reason why the person could not be asked, such as `biometryNotEnrolled`,
  ///   `passcodeNotSet` or `misconfigured`.
  func checkAvailability() async throws(AuthenticationError)

  /// Asks the person.
  ///
  /// It returns soon after its task was cancelled, and releases what it has in use. Where there is
  /// only one device, a second evaluation at the same time fails with `busy`.
  ///
  /// - Returns: How the person was authenticated.
  /// - Throws: ``AuthenticationError``; when the task was cancelled, `appCancel`.
  func evaluate(
    _ request: AuthenticationRequest
  ) async throws(AuthenticationError) -> AuthenticationMethod
}

/// How a person is authenticated.
public struct AuthenticationMethod: Hashable, Sendable, CustomStringConvertible {
  /// The name, for people and logs.
  public let description: String

  /// Names a method.
  public init(_ name: String) {
    description = name
  }

  /// The password of the person's account on this machine.
  public static let passcode = AuthenticationMethod("passcode")
  /// A fingerprint reader.
  public static let fingerprint = AuthenticationMethod("fingerprint")
  /// The method that the system's administrator has chosen, which the system does not name.
  public static let system = AuthenticationMethod("system")
  /// A passphrase that a key is derived from.
  public static let passphrase = AuthenticationMethod("passphrase")
}
