import Foundation
import SecretStores

/// When the items of a session expire, by the clock and the rules of its refresher.
struct Expiry<Item: Codable> {
  private let shared: SharedSessionState
  private let refresher: SessionRefresher<Item>

  init(of shared: SharedSessionState, _ refresher: SessionRefresher<Item>) {
    self.shared = shared
    self.refresher = refresher
  }

  /// Returns whether an item expires within the leeway.
  func isDue(_ item: Item) -> Bool {
    guard let expiration = refresher.expiration(item) else { return false }
    let issued = refresher.issue(item)
    if shared.isClockBehind(issued, until: expiration, clock: refresher.clock) { return true }
    let leeway = shared.leeway(refresher.policy.leeway, issued: issued, until: expiration)
    return shared.timeLeft(until: expiration, clock: refresher.clock) <= leeway
  }

  /// Returns whether an item has not expired.
  func isValid(_ item: Item) -> Bool {
    guard let expiration = refresher.expiration(item) else { return true }
    return shared.timeLeft(until: expiration, clock: refresher.clock) > .zero
  }
}

/// How long an item is still valid when the wall clock is unreliable.
///
/// Once the server's time is known, the wall clock is no longer used. Until then the shorter of two
/// results counts: by the wall clock now, and by the wall clock when the item was first seen, less
/// the time since then. Setting the clock back cannot make an item last longer, and setting it
/// forward only causes an unnecessary refresh.
struct ExpiryJudge {
  private struct Sight {
    let expiration: Date
    let uptime: Duration
    let left: Duration
  }

  private var server: (time: Date, uptime: Duration)?
  private var sight: Sight?
  private var issue: (expiration: Date, lifetime: Duration)?

  /// Records the time of a server.
  mutating func learn(serverTime: Date, uptime: Duration) {
    server = (serverTime, uptime)
    // It was computed with a clock that is no longer trusted.
    sight = nil
  }

  /// Returns the time until a date, below zero after it.
  mutating func timeLeft(until expiration: Date, now: Date, uptime: Duration) -> Duration {
    let now = server.map { $0.time + ((uptime - $0.uptime) / .seconds(1)) } ?? now
    let left = Duration(secondsUpToCenturies: expiration.timeIntervalSince(now))
    if let sight, sight.expiration == expiration {
      return min(left, sight.left - (uptime - sight.uptime))
    }
    sight = Sight(expiration: expiration, uptime: uptime, left: left)
    return left
  }

  /// Records that an item with this lifetime was issued.
  mutating func recordIssue(until expiration: Date, lifetime: Duration) {
    issue = (expiration, lifetime)
  }

  /// Returns whether an item was issued in the future, so that the clock was set back since then by
  /// more than those of two machines differ, and does not say when the item expires.
  func isClockBehind(_ issueDate: Date?, until expiration: Date, now: Date) -> Bool {
    guard let issueDate, server == nil, issue?.expiration != expiration else { return false }
    return now < issueDate - 300
  }

  /// Returns an item's whole lifetime, if its issue date is known, or if this process saw it
  /// issued.
  func lifetime(since issueDate: Date?, until expiration: Date) -> Duration? {
    if let issueDate {
      return max(.zero, Duration(secondsUpToCenturies: expiration.timeIntervalSince(issueDate)))
    }
    return issue?.expiration == expiration ? issue?.lifetime : nil
  }
}

extension Duration {
  /// Makes a duration of a number of seconds, limited to some centuries; NaN becomes the negative
  /// limit.
  fileprivate init(secondsUpToCenturies seconds: Double) {
    let limit = 1e10
    self = .seconds(seconds.isNaN ? -limit : max(-limit, min(limit, seconds)))
  }
}
