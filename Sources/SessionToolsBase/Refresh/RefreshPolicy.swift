/// How often, how long and how early a session is refreshed.
public struct RefreshPolicy: Sendable {
  /// How long before it expires an item is refreshed; 60 s.
  ///
  /// An item that cannot be refreshed now is used until it expires.
  public var leeway: Duration = .seconds(60)

  /// How long one caller waits for a refresh; 60 s.
  ///
  /// The refresh goes on for the others.
  public var timeout: Duration = .seconds(60)

  /// How long a refresh waits for one of the same item that another process makes; as long as
  /// ``timeout`` when `nil`.
  ///
  /// The one who waits gets a ``StoreError`` then, `timedOut`, unless the item is still good.
  public var exclusionTimeout: Duration?

  var longestExclusion: Duration { exclusionTimeout ?? timeout }

  /// How long a refresh handler may take; 2 min.
  ///
  /// Its task is cancelled then, and it counts as failed when it ends. One that takes no notice of that
  /// keeps everyone else from refreshing until it ends; so does one of iOS-SessionTools no longer than
  /// this.
  public var handlerTimeout: Duration = .seconds(120)

  /// How many tries may fail within ``tryWindow``; 5.
  public var largestTryCount = 5

  /// The time in which failed tries are counted; 30 s.
  public var tryWindow: Duration = .seconds(30)

  /// The pause after the first failed try; 0.5 s.
  ///
  /// It doubles with each that follows, and a random part of up to half of it is left out, so that
  /// many processes do not try in step.
  public var firstPause: Duration = .milliseconds(500)

  /// The longest pause that is not the server's wish; 10 s.
  public var largestPause: Duration = .seconds(10)

  /// How many may wait for one refresh; 10,000.
  ///
  /// Whoever comes then gets an error at once.
  public var largestWaiterCount = 10_000

  /// How many refreshes of this process are under way at the same time, those of other sessions
  /// included; 64.
  ///
  /// One that comes then waits for its turn, without a thread.
  public var largestConcurrentCount = 64

  /// The policy that suits most servers.
  public init() {}
}
