import Foundation
import SessionToolsBase

/// The deadline of a login, by a clock that cannot be set where possible.
struct LoginDeadline: Codable, Hashable, Sendable {
  private let begin: Date
  private let end: Date
  private let bootIdentifier: String
  /// In seconds since the machine started, by the clock that never jumps.
  private let uptimeEnd: Double

  init(in duration: Duration, by clock: any SessionClock) {
    let seconds = duration / .seconds(1)
    begin = clock.now
    end = begin + seconds
    bootIdentifier = clock.bootIdentifier
    uptimeEnd = clock.uptime / .seconds(1) + seconds
  }

  /// Returns the time left; `nil` when the deadline has passed.
  ///
  /// After a restart of the machine, only the wall clock is available. A wall clock before the
  /// start of the login has been set back, so the deadline counts as passed.
  func timeLeft(by clock: any SessionClock) -> Duration? {
    let seconds: Double
    if clock.bootIdentifier == bootIdentifier {
      seconds = uptimeEnd - clock.uptime / .seconds(1)
    } else {
      let now = clock.now
      guard now >= begin else { return nil }
      seconds = end.timeIntervalSince(now)
    }
    return seconds > 0 ? .seconds(seconds) : nil
  }
}
