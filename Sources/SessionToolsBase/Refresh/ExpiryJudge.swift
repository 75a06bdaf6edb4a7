import Foundation

/// How long an item is still good, when the wall clock cannot be relied on.
///
/// Once the server's time is known, the wall clock is not asked any more. Until then the shorter
/// of two answers counts: what the wall clock says now, and what it said when the item was seen
/// first, less the time since then. A clock that is set back cannot make an item last longer, and
/// one that is set forward costs a refresh that was not needed.
struct ExpiryJudge {
  private struct Sight {
    let expiration: Date
    let uptime: Duration
    let left: Duration
  }

  private var server: (time: Date, uptime: Duration)?
  private var sight: Sight?
  private var issue: (expiration: Date, lifetime: Duration)?

  /// Takes over the time of a server.
  mutating func learn(serverTime: Date, uptime: Duration) {
    server = (serverTime, uptime)
    // It was judged by a clock that is not believed any more.
    sight = nil
  }

  /// How long until a date, below zero after it.
  mutating func timeLeft(until expiration: Date, now: Date, uptime: Duration) -> Duration {
    let now = server.map { $0.time + ((uptime - $0.uptime) / .seconds(1)) } ?? now
    let left = Duration(secondsUpToCenturies: expiration.timeIntervalSince(now))
    if let sight, sight.expiration == expiration {
      return min(left, sight.left - (uptime - sight.uptime))
    }
    sight = Sight(expiration: expiration, uptime: uptime, left: left)
    return left
  }

  /// An item was issued that lasts so long.
  mutating func recordIssue(until expiration: Date, lifetime: Duration) {
    issue = (expiration, lifetime)
  }

  /// How long an item lasts in all, if it says so, or if this process saw it issued.
  func lifetime(since issueDate: Date?, until expiration: Date) -> Duration? {
    if let issueDate {
      return max(.zero, Duration(secondsUpToCenturies: expiration.timeIntervalSince(issueDate)))
    }
    return issue?.expiration == expiration ? issue?.lifetime : nil
  }
}

extension Duration {
  /// A number of seconds; what is longer than some centuries, or no number, becomes that.
  fileprivate init(secondsUpToCenturies seconds: Double) {
    let limit = 1e10
    self = .seconds(seconds.isNaN ? -limit : max(-limit, min(limit, seconds)))
  }
}
