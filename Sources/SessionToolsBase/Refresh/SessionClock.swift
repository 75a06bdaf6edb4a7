import CLinux
public import Foundation

/// What a session knows of time.
///
/// Two clocks, because neither is enough: the wall clock is compared with dates that a server
/// gave, and may be set by anyone at any time; the other one never jumps, and tells how long
/// something has been.
public protocol SessionClock: Sendable {
  /// The wall clock.
  var now: Date { get }

  /// The time since the machine was started, which never jumps and goes on while it sleeps.
  var uptime: Duration { get }

  /// Tells this start of the machine from all others: only within one can times by ``uptime`` be
  /// compared.
  var bootIdentifier: String { get }

  /// Waits.
  ///
  /// - Throws: `CancellationError` when the task is cancelled meanwhile.
  func sleep(for duration: Duration) async throws
}

extension SessionClock {
  /// The kernel's random identifier of this start.
  public var bootIdentifier: String { systemBootIdentifier }
}

extension SessionClock {
  /// Does something after a time, unless the task is cancelled before.
  package func after(
    _ duration: Duration, _ body: @escaping @Sendable () -> Void
  ) -> Task<Void, Never> {
    // By a moment, because it may take a while until the task runs.
    let end = uptime + duration
    return Task {
      // It only fails when it is cancelled.
      if (try? await sleep(for: max(.zero, end - uptime))) != nil { body() }
    }
  }
}

/// The clocks of the machine.
public struct SystemSessionClock: SessionClock {
  /// The clocks of the machine.
  public init() {}

  /// `CLOCK_REALTIME`.
  public var now: Date { Date() }

  /// `CLOCK_BOOTTIME`.
  public var uptime: Duration {
    .nanoseconds(session_tools_uptime())
  }

  /// Waits by the clock of ``uptime``, which on Linux is Swift's `ContinuousClock`.
  ///
  /// What is longer than a century is a century.
  ///
  /// - Throws: `CancellationError` when the task is cancelled meanwhile.
  public func sleep(for duration: Duration) async throws {
    // The clock cannot reckon with what is close to the most that a `Duration` holds.
    let century = Duration.seconds(100 * 365 * 86_400)
    try await Task.sleep(for: min(duration, century), clock: .continuous)
  }
}

/// Where it cannot be read, nothing of an earlier process is of this start.
private let systemBootIdentifier: String = {
  let path = "/proc/sys/kernel/random/boot_id"
  let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? UUID().uuidString
  return text.trimmingCharacters(in: .whitespacesAndNewlines)
}()
