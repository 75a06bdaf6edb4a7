import CSessionToolsLinux
public import Foundation

/// The clocks of a session.
///
/// There are two, because neither is enough: the wall clock is compared with dates from a server,
/// and may be set by anyone at any time; the other one never jumps, and measures elapsed time.
public protocol SessionClock: Sendable {
  /// The wall clock.
  var now: Date { get }

  /// The time since the machine was started, which never jumps and continues while it sleeps.
  var uptime: Duration { get }

  /// The identifier of this start of the machine: times by ``uptime`` can be compared only within
  /// one start.
  var bootIdentifier: String { get }

  /// Waits for a time.
  ///
  /// - Throws: `CancellationError` when the task is cancelled meanwhile.
  func sleep(for duration: Duration) async throws
}

extension SessionClock {
  /// The kernel's random identifier of this start.
  public var bootIdentifier: String { systemBootIdentifier }
}

extension SessionClock {
  /// Calls a closure after a time, unless the task is cancelled first.
  package func after(
    _ duration: Duration, _ body: @escaping @Sendable () -> Void
  ) -> Task<Void, Never> {
    // A fixed moment, because it may take a while until the task runs.
    let end = uptime + duration
    return Task(executorPreference: timerThreads) {
      // It fails only when it is cancelled.
      if (try? await sleep(for: max(.zero, end - uptime))) != nil { body() }
    }
  }
}

/// The clocks of the machine.
public struct SystemSessionClock: SessionClock {
  /// Makes the clocks of the machine.
  public init() {}

  /// `CLOCK_REALTIME`.
  public var now: Date { Date() }

  /// `CLOCK_BOOTTIME`.
  public var uptime: Duration {
    .nanoseconds(session_tools_uptime())
  }

  /// Waits by the clock of ``uptime``, which on Linux is Swift's `ContinuousClock`.
  ///
  /// Durations longer than a century are shortened to one.
  ///
  /// - Throws: `CancellationError` when the task is cancelled meanwhile.
  public func sleep(for duration: Duration) async throws {
    // The clock cannot calculate with durations close to the largest one.
    let century = Duration.seconds(100 * 365 * 86_400)
    try await Task.sleep(for: min(duration, century), clock: .continuous)
  }
}

/// The kernel's identifier of this start, or a random one if that cannot be read, which matches no
/// time recorded by an earlier process.
private let systemBootIdentifier: String = {
  let path = "/proc/sys/kernel/random/boot_id"
  let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? UUID().uuidString
  return text.trimmingCharacters(in: .whitespacesAndNewlines)
}()
