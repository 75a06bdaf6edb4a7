import Foundation
import SessionToolsBase

/// Until when a login may be finished, told by a clock that nobody sets where that is possible.
struct LoginDeadline: Codable, Hashable, Sendable {
  private let begin: Date
  private let end: Date
  private let bootIdentifier: String
  /// In seconds, by the clock that never jumps, within the machine's start.
  private let uptimeEnd: Double

  init(in duration: Duration, by clock: any SessionClock) {
    let seconds = duration / .seconds(1)
    begin = clock.now
    end = begin + seconds
    bootIdentifier = clock.bootIdentifier
    uptimeEnd = clock.uptime / .seconds(1) + seconds
  }

  /// How long is left; `nil` when it is over.
  ///
  /// After a restart of the machine only the wall clock can tell. One that is before the login's
  /// begin has been set back, and cannot.
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
