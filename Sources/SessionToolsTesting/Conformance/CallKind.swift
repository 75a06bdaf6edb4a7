extension StoreConformance {
  /// One of the two kinds of calls that every store and every newer container has.
  public enum CallKind: String, CaseIterable, Hashable, Sendable, CustomStringConvertible {
    /// Calls that block their thread.
    case blocking
    /// Calls that suspend their task.
    case async

    /// The name of the kind.
    public var description: String { rawValue }

    /// The other kind.
    var other: CallKind { self == .blocking ? .async : .blocking }
  }
}

/// The short name that the checks of stores and containers use.
typealias CallKind = StoreConformance.CallKind
