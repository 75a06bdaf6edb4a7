/// What happens to those who want a guarded item while nobody is authenticated.
public struct GuardPolicy: Hashable, Sendable {
  /// What becomes of an `async` read.
  ///
  /// Reads of a session's state, and those of signing in and out and of a refresh that is under way, are
  /// refused whatever the policy is: nobody in front has asked for the item.
  public enum WhenLocked: Hashable, Sendable {
    /// It fails with `locked`.
    case refuse
    /// It waits, at most so long, until somebody is authenticated; asks nobody.
    case wait(Duration)
    /// It has somebody asked, and waits.
    case authenticate
  }

  /// What becomes of an `async` read; it is refused.
  public var whenLocked = WhenLocked.refuse

  /// Whether changes need authentication, too; `false`.
  public var guardsChanges = false

  /// The policy of what is to be read while somebody looks.
  public init(_ whenLocked: WhenLocked = .refuse, guardsChanges: Bool = false) {
    self.whenLocked = whenLocked
    self.guardsChanges = guardsChanges
  }
}
