public import SessionToolsBase

/// A moment by a clock that continues during sleep, and restarts with the machine.
public struct BootInstant: Codable, Hashable, Sendable {
  /// The start of the machine that it counts from.
  public let bootIdentifier: String
  /// The time since that start.
  public let uptime: Duration

  /// Makes a moment.
  public init(bootIdentifier: String, uptime: Duration) {
    self.bootIdentifier = bootIdentifier
    self.uptime = uptime
  }

  /// Decodes a stored moment.
  ///
  /// - Throws: `DecodingError` when no clock can show such a time: it is negative, or more than 9 ×
  ///   10¹⁸ s.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    bootIdentifier = try container.decode(String.self, forKey: .bootIdentifier)
    uptime = try container.decode(Duration.self, forKey: .uptime)
    guard uptime >= .zero, uptime.isReckonable else {
      throw DecodingError.dataCorruptedError(
        forKey: .uptime, in: container, debugDescription: "The uptime is out of range.")
    }
  }

  /// Returns the time from this moment to another, negative if the other is earlier; `nil` when
  /// they are of different starts.
  public func duration(to other: BootInstant) -> Duration? {
    bootIdentifier == other.bootIdentifier ? other.uptime - uptime : nil
  }

  /// Returns the moment that is later by a duration.
  public func advanced(by duration: Duration) -> BootInstant {
    BootInstant(bootIdentifier: bootIdentifier, uptime: uptime + duration)
  }
}

extension Duration {
  /// Whether it can be added to another without overflowing a `Duration`.
  var isReckonable: Bool { (.seconds(-Int64.max)...(.seconds(Int64.max))).contains(self) }
}

extension SessionClock {
  /// The current moment.
  public var instant: BootInstant {
    BootInstant(bootIdentifier: bootIdentifier, uptime: uptime)
  }
}
