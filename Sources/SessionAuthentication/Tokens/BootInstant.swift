public import SessionToolsBase

/// A moment by a clock that goes on while the machine sleeps, and begins anew with each start.
public struct BootInstant: Codable, Hashable, Sendable {
  /// Which start of the machine it counts from.
  public let bootIdentifier: String
  /// The time since then.
  public let uptime: Duration

  /// States a moment.
  public init(bootIdentifier: String, uptime: Duration) {
    self.bootIdentifier = bootIdentifier
    self.uptime = uptime
  }

  /// Takes a moment that was kept.
  ///
  /// - Throws: `DecodingError` when no clock shows such a time: it is negative, or more than
  ///   9 × 10¹⁸ s.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    bootIdentifier = try container.decode(String.self, forKey: .bootIdentifier)
    uptime = try container.decode(Duration.self, forKey: .uptime)
    guard uptime >= .zero, uptime.isReckonable else {
      throw DecodingError.dataCorruptedError(
        forKey: .uptime, in: container, debugDescription: "No clock shows this time.")
    }
  }

  /// The time from this moment to another, negative when that was before; `nil` when they are of
  /// different starts.
  public func duration(to other: BootInstant) -> Duration? {
    bootIdentifier == other.bootIdentifier ? other.uptime - uptime : nil
  }

  /// The moment so much later.
  public func advanced(by duration: Duration) -> BootInstant {
    BootInstant(bootIdentifier: bootIdentifier, uptime: uptime + duration)
  }
}

extension Duration {
  /// Whether it can be added to another without running over what a `Duration` holds.
  var isReckonable: Bool { (.seconds(-Int64.max)...(.seconds(Int64.max))).contains(self) }
}

extension SessionClock {
  /// Now.
  public var instant: BootInstant {
    BootInstant(bootIdentifier: bootIdentifier, uptime: uptime)
  }
}
