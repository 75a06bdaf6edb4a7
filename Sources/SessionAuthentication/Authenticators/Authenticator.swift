/// Finds out whether the person in front is who they should be.
///
/// Most answer yes or no, which is a presence check: what they guard is as readable to the program
/// after a no as before. Only where a secret is derived from what the person gives, as with
/// ``PassphraseAuthenticator``, is that protection.
public protocol Authenticator: Sendable {
  /// How it finds out.
  var method: AuthenticationMethod { get }

  /// Whether it could be asked now; asks nobody, and may wait for services of the machine.
  func availability() async -> AuthenticatorAvailability

  /// Asks the person.
  ///
  /// Returns soon after its task was cancelled, and lets go of what it has in use. A second evaluation
  /// while one is under way fails with `busy` where there is only one device.
  ///
  /// - Returns: How the person was authenticated.
  /// - Throws: ``AuthenticationError``; when the task was cancelled, `appCancel`.
  func evaluate(
    _ request: AuthenticationRequest
  ) async throws(AuthenticationError) -> AuthenticationMethod
}

/// Whether an authenticator could be asked.
public enum AuthenticatorAvailability: Sendable {
  /// It could.
  case available
  /// It could not, for this reason: such as `biometryNotEnrolled`, `passcodeNotSet`,
  /// `misconfigured`.
  case unavailable(AuthenticationError)

  /// Whether it could.
  public var isAvailable: Bool {
    if case .available = self { true } else { false }
  }
}

/// How a person is authenticated.
public struct AuthenticationMethod: Hashable, Sendable, CustomStringConvertible {
  /// Its name, for people and logs.
  public let description: String
  /// What part of the body it looks at, if it does.
  public let biometry: BiometryKind?

  /// Names a method.
  public init(_ name: String, biometry: BiometryKind? = nil) {
    description = name
    self.biometry = biometry
  }

  /// The password of the person's account on this machine.
  public static let passcode = AuthenticationMethod("passcode")
  /// A fingerprint reader.
  public static let fingerprint = AuthenticationMethod("fingerprint", biometry: .fingerprint)
  /// Whatever the system's administrator has chosen, which does not say what it was.
  public static let system = AuthenticationMethod("system")
  /// A passphrase that a key is derived from.
  public static let passphrase = AuthenticationMethod("passphrase")
}

/// A part of the body by which people are told apart.
public struct BiometryKind: Hashable, Sendable, CustomStringConvertible {
  /// Its name.
  public let description: String

  /// Names a part.
  public init(_ name: String) {
    description = name
  }

  /// A finger.
  public static let fingerprint = BiometryKind("fingerprint")
  /// A face.
  public static let face = BiometryKind("face")
}
