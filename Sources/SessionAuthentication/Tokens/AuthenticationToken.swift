public import SessionToolsBase

/// A proof that a person was authenticated, which knows whether it is still valid.
///
/// The gate checks it on every access. Write your own for other rules, such as a token that a
/// server can revoke.
public protocol AuthenticationToken: Sendable {
  /// Returns whether it is valid at a moment; called often and under a lock, so it must not block.
  func isValid(at instant: BootInstant) -> Bool

  /// The moment from which it is no longer valid, if known.
  ///
  /// The gate locks then. Without it, the gate notices on the next access.
  var expiration: BootInstant? { get }
}

extension AuthenticationToken {
  /// `nil`: the moment is unknown.
  public var expiration: BootInstant? { nil }
}

/// A token that lasts until the gate locks, or the machine restarts.
///
/// It can be stored, as ``ExpiringToken`` can. A stored token stays valid until the restart: remove
/// it when the gate locks.
public struct PermanentToken: AuthenticationToken, Codable, Hashable {
  /// When the person was authenticated.
  public let issued: BootInstant

  /// Issues a token now.
  public init(clock: some SessionClock = SystemSessionClock()) {
    issued = clock.instant
  }

  /// Returns whether it was issued since the machine's last start, and not in the future.
  public func isValid(at instant: BootInstant) -> Bool {
    issued.duration(to: instant).map { $0 >= .zero } ?? false
  }
}

/// A token that lasts for a while, including the time that the machine sleeps.
///
/// It can be stored, such as by a command that is a new process each time. Store it safely: a
/// program that can write it can forge one. A decoded token is as old as the encoded one, and is
/// valid only until the machine restarts.
public struct ExpiringToken: AuthenticationToken, Codable, Hashable {
  /// When the person was authenticated.
  public let issued: BootInstant
  /// How long it is valid.
  public let lifetime: Duration

  /// Issues a token now.
  ///
  /// - Parameters:
  ///   - lifetime: How long it is valid; with zero or less it never is.
  ///   - clock: The clock that measures the time.
  public init(lifetime: Duration, clock: some SessionClock = SystemSessionClock()) {
    self.lifetime = lifetime
    issued = clock.instant
  }

  /// Decodes a stored token.
  ///
  /// - Throws: `DecodingError` when its lifetime is more than 9 × 10¹⁸ s, or the errors of
  ///   ``BootInstant/init(from:)``.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    issued = try container.decode(BootInstant.self, forKey: .issued)
    lifetime = try container.decode(Duration.self, forKey: .lifetime)
    guard lifetime.isReckonable else {
      throw DecodingError.dataCorruptedError(
        forKey: .lifetime, in: container, debugDescription: "The lifetime is too long.")
    }
  }

  /// Returns whether it was issued since the machine's last start, not in the future, and has not
  /// expired.
  public func isValid(at instant: BootInstant) -> Bool {
    issued.duration(to: instant).map { $0 >= .zero && $0 < lifetime } ?? false
  }

  /// When its lifetime ends.
  public var expiration: BootInstant? { issued.advanced(by: lifetime) }
}
