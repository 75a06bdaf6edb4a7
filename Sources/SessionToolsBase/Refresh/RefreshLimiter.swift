/// Lets a refresh that fails be tried again with growing pauses, and so many times at most.
struct RefreshLimiter {
  /// What to do about a try.
  enum Verdict {
    case now
    case after(Duration)
    /// As often as is allowed; the next may be made then.
    case exhausted(Duration)
  }

  private var failures: [Duration] = []
  private var next: Duration = .zero
  /// What the last try failed with.
  private(set) var lastError: (any Error)?

  /// The number of tries that failed since the last that worked.
  private(set) var failureCount = 0

  /// What to do about a try.
  mutating func verdict(at uptime: Duration, _ policy: RefreshPolicy) -> Verdict {
    failures.removeAll { uptime - $0 >= policy.tryWindow }
    if failures.count >= policy.largestTryCount, let oldest = failures.first {
      return .exhausted(max(oldest + policy.tryWindow, next) - uptime)
    }
    return next > uptime ? .after(next - uptime) : .now
  }

  /// A try failed.
  mutating func recordFailure(
    _ error: any Error, at uptime: Duration, retryAfter: Duration?, _ policy: RefreshPolicy
  ) {
    lastError = error
    failureCount += 1
    failures.append(uptime)
    var pause = policy.firstPause
    for _ in failures.dropFirst() where pause < policy.largestPause { pause *= 2 }
    pause = min(pause, policy.largestPause) * Double.random(in: 0.5...1)
    next = uptime + max(pause, retryAfter ?? .zero)
  }

  /// A try worked.
  mutating func recordSuccess() {
    self = RefreshLimiter()
  }
}
