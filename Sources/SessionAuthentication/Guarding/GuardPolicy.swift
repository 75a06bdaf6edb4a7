/// The handling of guarded items while the gate is locked.
public struct GuardPolicy: Hashable, Sendable {
  /// The handling of an `async` read.
  ///
  /// Reads of a session's state, and those by sign-in, sign-out and a refresh under way, are
  /// refused whatever the policy: they are not on the person's request.
  public enum WhenLocked: Hashable, Sendable {
    /// It fails with `locked`.
    case refuse
    /// It waits, at most this long, until the person is authenticated; it does not ask.
    case wait(Duration)
    /// It asks the person, and waits.
    case authenticate
  }

  /// The handling of an `async` read; `refuse` by default.
  public var whenLocked = WhenLocked.refuse

  /// Whether changes also need authentication; `false` by default.
  public var guardsChanges = false

  /// Makes a policy.
  public init(_ whenLocked: WhenLocked = .refuse, guardsChanges: Bool = false) {
    self.whenLocked = whenLocked
    self.guardsChanges = guardsChanges
  }
}
