/// How often, how long and how early a session is refreshed.
public struct RefreshPolicy: Sendable {
  /// How long before it expires an item is refreshed; 60 s.
  ///
  /// An item that cannot be refreshed now is used until it expires.
  public var leeway: Duration = .seconds(60)

  /// How long one caller waits for a refresh; 60 s.
  ///
  /// The refresh continues for the others.
  public var timeout: Duration = .seconds(60)

  /// How long a refresh waits for another process that refreshes the same item; as long as
  /// ``timeout`` when `nil`.
  ///
  /// Callers then get a `StoreError`, `timedOut`, unless the item is still valid.
  public var exclusionTimeout: Duration?

  var maximumExclusion: Duration { exclusionTimeout ?? timeout }

  /// How long a refresh handler may take; 2 min.
  ///
  /// Its task is then cancelled; an outcome that it returns nevertheless is used. A handler that
  /// ignores the cancellation keeps all others from refreshing until it ends, or until its access
  /// is lost; a handler of iOS-SessionTools does so no longer than this time. On Linux, a request
  /// with `URLSession` is not safe to cancel; see ``Session/withValidItem(_:isRejected:)``.
  public var handlerTimeout: Duration = .seconds(120)

  /// How many tries may fail within ``attemptWindow``; 5.
  public var maximumAttemptCount = 5

  /// The time in which failed tries are counted; 30 s.
  ///
  /// For as long, a refresh stores its new item again and again when the store cannot be reached.
  public var attemptWindow: Duration = .seconds(30)

  /// The pause after the first failed try; 0.5 s.
  ///
  /// It doubles after each further failure, and loses a random part of up to half, so that many
  /// processes do not try in step.
  public var firstPause: Duration = .milliseconds(500)

  /// The longest pause, unless the server asks for a longer one; 10 s.
  public var maximumPause: Duration = .seconds(10)

  /// How many callers may wait for one refresh, the one that begins it included; 10,000.
  ///
  /// Further callers get an error at once.
  public var maximumWaiterCount = 10_000

  /// How many refreshes of this process, including those of other sessions, are under way at the
  /// same time; 64.
  ///
  /// Further refreshes wait for their turn, without a thread.
  public var maximumConcurrentCount = 64

  /// Makes a policy that suits most servers.
  public init() {}

  /// The pause before the next try, after this number of failures.
  func pause(after failureCount: Int) -> Duration {
    var pause = firstPause
    for _ in 1..<max(failureCount, 1) where pause < maximumPause { pause *= 2 }
    return min(pause, maximumPause) * Double.random(in: 0.5...1)
  }
}
