/// Lets a refresh that fails be tried again with growing pauses, and so many times at most.
struct RefreshLimiter {
  /// What to do about a try.
  enum Verdict {
    case now
    case after(Duration)
    /// As often as is allowed; the next may be made then.
    case exhausted(Duration)
  }

  /// What could not be refreshed; `nil` when that is whatever is stored now.
  private var version: ItemVersion?
  private var failures: [Duration] = []
  private var next: Duration = .zero
  /// What the last try failed with.
  private(set) var lastError: (any Error)?

  /// The number of tries that failed since the last that worked.
  private(set) var failureCount = 0

  /// What to do about a try to refresh a version of the item.
  mutating func verdict(
    for version: ItemVersion, at uptime: Duration, _ policy: RefreshPolicy
  ) -> Verdict {
    // Others have signed in, perhaps, or have a token that can be refreshed: how long the older one
    // was to wait says nothing of this one. Only the number of tries does.
    if let other = self.version, other != version { next = .zero }
    self.version = version
    failures.removeAll { uptime - $0 >= policy.tryWindow }
    if failures.count >= policy.largestTryCount, let oldest = failures.first {
      return .exhausted(max(oldest + policy.tryWindow, next) - uptime)
    }
    return next > uptime ? .after(next - uptime) : .now
  }

  /// A try failed to refresh a version of the item; `nil` is the one that is stored now.
  mutating func recordFailure(
    _ error: any Error, of version: ItemVersion?, at uptime: Duration, retryAfter: Duration?,
    _ policy: RefreshPolicy
  ) {
    self.version = version
    lastError = error
    failureCount += 1
    failures.append(uptime)
    var pause = policy.firstPause
    for _ in failures.dropFirst() where pause < policy.largestPause { pause *= 2 }
    pause = min(pause, policy.largestPause) * Double.random(in: 0.5...1)
    next = uptime + max(pause, retryAfter ?? .zero)
  }

  /// A try worked, or somebody else is signed in.
  mutating func forget() {
    self = RefreshLimiter()
  }
}
