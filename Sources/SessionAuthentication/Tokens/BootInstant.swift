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

extension SessionClock {
  /// Now.
  public var instant: BootInstant {
    BootInstant(bootIdentifier: bootIdentifier, uptime: uptime)
  }
}
