#if ServiceAdapters
public import Metrics
public import SessionToolsBase

/// Counters and timers of session and store events, recorded with swift-metrics.
///
/// ```swift
/// let metrics = SessionMetrics()
/// SessionEvent.observer = { metrics.record($0) }
/// ```
///
/// | metric | kind | dimension |
/// |---|---|---|
/// | `session_tools_refreshes_total` | counter | `outcome` |
/// | `session_tools_refreshes_under_way` | meter | |
/// | `session_tools_refresh_duration_seconds` | timer | |
/// | `session_tools_refresh_failed_tries_total` | counter | |
/// | `session_tools_refresh_wait_duration_seconds` | timer | |
/// | `session_tools_sign_outs_total` | counter | `reason` |
/// | `session_tools_lock_wait_duration_seconds` | timer | |
/// | `session_tools_store_notices_total` | counter | |
///
/// The names end as Prometheus and OpenTelemetry expect it; a timer's values are given to the
/// factory in nanoseconds, as swift-metrics has them.
///
/// The `outcome` is `refreshed`, `not_needed`, `rejected` or `failed`, and the `reason` is
/// `requested` or `rejected`. No dimension names a session or a store, because there may be any
/// number of them.
public struct SessionMetrics: Sendable {
  private let refreshes:
    (refreshed: Counter, notNeeded: Counter, rejected: Counter, failed: Counter)
  private let refreshesUnderWay: Meter
  private let refreshDuration: Timer
  private let failedTries: Counter
  private let refreshWaitDuration: Timer
  private let signOuts: (requested: Counter, rejected: Counter)
  private let lockWaitDuration: Timer
  private let storeNotices: Counter

  /// Makes the metrics.
  ///
  /// - Parameter factory: The factory that makes them; by default the factory that
  ///   `MetricsSystem` was bootstrapped with.
  public init(factory: any MetricsFactory = MetricsSystem.factory) {
    func counter(_ name: String, _ dimension: (String, String)? = nil) -> Counter {
      Counter(
        label: "session_tools_\(name)_total", dimensions: dimension.map { [$0] } ?? [],
        factory: factory)
    }
    func timer(_ name: String) -> Timer {
      Timer(label: "session_tools_\(name)_seconds", dimensions: [], factory: factory)
    }
    refreshes = (
      counter("refreshes", ("outcome", "refreshed")),
      counter("refreshes", ("outcome", "not_needed")),
      counter("refreshes", ("outcome", "rejected")), counter("refreshes", ("outcome", "failed"))
    )
    refreshesUnderWay = Meter(
      label: "session_tools_refreshes_under_way", dimensions: [], factory: factory)
    refreshDuration = timer("refresh_duration")
    failedTries = counter("refresh_failed_tries")
    refreshWaitDuration = timer("refresh_wait_duration")
    signOuts = (
      counter("sign_outs", ("reason", "requested")), counter("sign_outs", ("reason", "rejected"))
    )
    lockWaitDuration = timer("lock_wait_duration")
    storeNotices = counter("store_notices")
  }

  /// Counts an event, and records how long it took.
  public func record(_ event: SessionEvent) {
    switch event {
    case .refreshBegan: refreshesUnderWay.increment()
    case .refreshEnded(_, let end, let duration):
      refreshesUnderWay.decrement()
      refreshDuration.record(duration: duration)
      counter(of: end).increment()
    case .refreshTryFailed: failedTries.increment()
    case .refreshWaited(_, let duration): refreshWaitDuration.record(duration: duration)
    case .signedOut(_, .requested), .signedOut(_, .unknown): signOuts.requested.increment()
    case .signedOut(_, .rejected): signOuts.rejected.increment()
    case .lockWaited(_, let duration): lockWaitDuration.record(duration: duration)
    case .storeNotice: storeNotices.increment()
    }
  }

  private func counter(of end: SessionEvent.RefreshEnd) -> Counter {
    switch end {
    case .refreshed: refreshes.refreshed
    case .notNeeded: refreshes.notNeeded
    case .rejected: refreshes.rejected
    case .failed: refreshes.failed
    }
  }
}
#endif
