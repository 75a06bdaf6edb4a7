/// When a gate locks, and when it asks.
public struct GateConfiguration: Hashable, Sendable {
  /// What takes the authentication away.
  public enum Invalidation: Hashable, Sendable {
    /// That no scene has the focus.
    case resignActive
    /// That no scene can be seen.
    case enterBackground
    /// Nothing that scenes do.
    case never
  }

  /// Whether authentication is required at all; `true`.
  ///
  /// A gate that is not enabled is open, and wipes nothing. One that is enabled again is as
  /// locked as it would be.
  public var isEnabled = true

  /// What scenes do that takes the authentication away; `enterBackground`.
  public var invalidation = Invalidation.enterBackground

  /// How long after that a person who comes back is not asked again; zero.
  ///
  /// Never longer than the token lasts.
  public var graceDuration: Duration = .zero

  /// Whether a person is asked as soon as a locked scene comes to the front; `true`.
  public var requestsAutomatically = true

  /// Whether the gate locks when the desktop does; `true`.
  public var locksWithSession = true

  /// Whether the gate locks before the machine sleeps; `true`.
  public var locksBeforeSleep = true

  /// How long switching from one scene to another may take, during which none has the focus; 0.3 s.
  public var switchingDuration: Duration = .milliseconds(300)

  /// How long the focus may take to come back to the program from the question; 5 s.
  public var promptSettling: Duration = .seconds(5)

  /// How long an evaluation may take; 3 min.
  public var evaluationTimeout: Duration = .seconds(180)

  /// How much may wait for authentication at the same time; 10,000.
  public var largestDeferredCount = 10_000

  /// The configuration that suits most programs.
  public init() {}
}
