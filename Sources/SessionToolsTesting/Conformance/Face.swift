/// One of the two kinds of calls that every store and every newer container has.
public enum Face: String, CaseIterable, Hashable, Sendable, CustomStringConvertible {
  /// Calls that hold their thread.
  case blocking
  /// Calls of tasks.
  case async

  /// Its name.
  public var description: String { rawValue }

  /// The other one.
  var other: Face { self == .blocking ? .async : .blocking }
}
