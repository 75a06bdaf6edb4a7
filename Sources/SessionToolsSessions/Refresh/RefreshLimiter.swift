import SecretStores
/// The limits for retrying a failed refresh: growing pauses, and a largest number of tries in a
/// period.
struct RefreshLimiter {
  /// Whether and when a try may be made.
  enum Verdict {
    case now
    case after(Duration)
    /// The allowed number of tries is used up; the next may be made after this time.
    case exhausted(Duration)
  }

  /// The version that could not be refreshed; `nil` when that is whichever is stored now.
  private var version: ItemVersion?
  private var failures: [Duration] = []
  private var next: Duration = .zero
  /// The error of the last try.
  private(set) var lastError: (any Error)?

  /// The number of tries that failed since the last success.
  private(set) var failureCount = 0

  /// Decides about a try to refresh a version of the item.
  mutating func verdict(
    for version: ItemVersion, at uptime: Duration, _ policy: RefreshPolicy
  ) -> Verdict {
    // Another user may have signed in, or the new token may be refreshable: only the number of
    // tries of the older version applies to this one, not its pause.
    if let other = self.version, other != version { next = .zero }
    self.version = version
    failures.removeAll { uptime - $0 >= policy.attemptWindow }
    if failures.count >= policy.maximumAttemptCount, let oldest = failures.first {
      return .exhausted(max(oldest + policy.attemptWindow, next) - uptime)
    }
    return next > uptime ? .after(next - uptime) : .now
  }

  /// Records a failed try to refresh a version of the item; `nil` is the one stored now.
  mutating func recordFailure(
    _ error: any Error, of version: ItemVersion?, at uptime: Duration, retryAfter: Duration?,
    _ policy: RefreshPolicy
  ) {
    self.version = version
    lastError = error
    failureCount += 1
    failures.append(uptime)
    next = uptime + max(policy.pause(after: failures.count), retryAfter ?? .zero)
  }

  /// Forgets all tries, because one succeeded or another user is signed in.
  mutating func forget() {
    self = RefreshLimiter()
  }
}
