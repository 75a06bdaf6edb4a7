/// The rules for when a gate locks, and when it asks.
public struct GateConfiguration: Hashable, Sendable {
  /// The scene events that end the authentication.
  public enum Invalidation: Hashable, Sendable {
    /// No scene has the focus any longer.
    case resignActive
    /// No scene is visible any longer.
    case enterBackground
    /// Scene events never end it.
    case never
  }

  /// Whether authentication is required at all; `true` by default.
  ///
  /// A disabled gate is open, and wipes nothing. When it is enabled again, it is locked unless its
  /// token is still valid.
  public var isEnabled = true

  /// The scene events that end the authentication; `enterBackground` by default.
  public var invalidation = Invalidation.enterBackground

  /// How long after leaving a person may come back without being asked; zero by default.
  ///
  /// It is never longer than the token lasts.
  public var graceDuration: Duration = .zero

  /// Whether the person is asked as soon as a locked scene comes to the front; `true` by default.
  public var requestsAutomatically = true

  /// Whether the gate locks when the desktop does; `true` by default.
  public var locksWithSession = true

  /// Whether the gate locks before the machine sleeps; `true` by default.
  public var locksBeforeSleep = true

  /// How long switching between scenes may take, while no scene has the focus; 0.3 s by default.
  public var switchingDuration: Duration = .milliseconds(300)

  /// How long the focus may take to return from the question to the program; 5 s by default.
  public var focusReturnDuration: Duration = .seconds(5)

  /// How long an evaluation may take; 3 min by default.
  public var evaluationTimeout: Duration = .seconds(180)

  /// How many calls may wait for authentication at the same time; 10,000 by default.
  public var maximumDeferredCount = 10_000

  /// Makes the configuration that suits most programs.
  public init() {}
}
