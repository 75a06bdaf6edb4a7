public import SessionToolsBase

/// What says that somebody was authenticated, and whether that still counts.
///
/// The gate asks for it whenever somebody wants in. Write your own for other rules, such as one that
/// a server can take back.
public protocol AuthenticationToken: Sendable {
  /// Whether it counts at a moment; asked often and under a lock, so it must not block.
  func isValid(at instant: BootInstant) -> Bool

  /// The moment from which it does not count any more, if it is known.
  ///
  /// The gate locks then. A token that gives none is noticed when somebody wants in.
  var expiration: BootInstant? { get }
}

extension AuthenticationToken {
  /// None.
  public var expiration: BootInstant? { nil }
}

/// A token that can be kept, such as by a command that runs anew each time.
///
/// Keep it in a store: whoever can write it can make one. What is decoded is as old as what was
/// encoded, and counts on no other start of the machine.
public protocol EncodableAuthenticationToken: AuthenticationToken, Codable {}

/// A token that lasts until the gate locks, or the machine is started anew.
///
/// One that was kept counts until then: remove it when the gate locks.
public struct PermanentToken: EncodableAuthenticationToken, Hashable {
  /// When somebody was authenticated.
  public let issued: BootInstant

  /// Issues a token now.
  public init(clock: some SessionClock = SystemSessionClock()) {
    issued = clock.instant
  }

  /// Whether it is of this start of the machine, and not of its future.
  public func isValid(at instant: BootInstant) -> Bool {
    issued.duration(to: instant).map { $0 >= .zero } ?? false
  }
}

/// A token that lasts for a while, during which the time that the machine sleeps counts.
public struct ExpiringToken: EncodableAuthenticationToken, Hashable {
  /// When somebody was authenticated.
  public let issued: BootInstant
  /// How long it counts.
  public let lifetime: Duration

  /// Issues a token now.
  ///
  /// - Parameters:
  ///   - lifetime: How long it counts; with zero or less it never does.
  ///   - clock: What tells the time.
  public init(lifetime: Duration, clock: some SessionClock = SystemSessionClock()) {
    self.lifetime = lifetime
    issued = clock.instant
  }

  /// Takes a token that was kept.
  ///
  /// - Throws: `DecodingError` when its lifetime is more than 9 × 10¹⁸ s, or as
  ///   ``BootInstant/init(from:)``.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    issued = try container.decode(BootInstant.self, forKey: .issued)
    lifetime = try container.decode(Duration.self, forKey: .lifetime)
    guard lifetime.isReckonable else {
      throw DecodingError.dataCorruptedError(
        forKey: .lifetime, in: container, debugDescription: "Nothing lasts so long.")
    }
  }

  /// Whether it is of this start of the machine, not of its future, and not older than it may be.
  public func isValid(at instant: BootInstant) -> Bool {
    issued.duration(to: instant).map { $0 >= .zero && $0 < lifetime } ?? false
  }

  /// When its lifetime is over.
  public var expiration: BootInstant? { issued.advanced(by: lifetime) }
}
