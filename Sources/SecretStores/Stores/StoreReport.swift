import Synchronization

/// What a store of this package reports to the process; sessions pass it on as events.
package enum StoreReport: Sendable {
  /// A task or thread waited for a lock of a store, named by its path, and then got it, no longer
  /// needed it, or timed out.
  case lockWaited(store: String, for: Duration)
  /// The text of a store's notice.
  case notice(store: String, String)

  /// Called with each report, on any thread, also while a lock is held; `nil` when no one wants
  /// them.
  package static var observer: (@Sendable (StoreReport) -> Void)? {
    get { held.withLock(\.observer) }
    set {
      held.withLock { held in
        held.observer = newValue
        isFlagged.store(newValue != nil, ordering: .releasing)
      }
    }
  }

  /// Whether an observer is set.
  package static var isObserved: Bool { isFlagged.load(ordering: .relaxed) }

  /// Reports something; without an observer the report is not even made.
  package static func report(_ report: @autoclosure () -> StoreReport) {
    guard isObserved, let observer else { return }
    observer(report())
  }
}

private struct HeldObserver: Sendable {
  var observer: (@Sendable (StoreReport) -> Void)?
}

private let isFlagged = Atomic(false)
private let held = Mutex(HeldObserver())

/// A time for a report, measured only while there is an observer.
package struct ObservedTime: Sendable {
  private let start: ContinuousClock.Instant?

  /// Begins measuring now.
  package init() {
    start = StoreReport.isObserved ? ContinuousClock.now : nil
  }

  /// Reports a wait for a lock of a store, since the beginning.
  func reportLockWait(of store: String) {
    guard let elapsed else { return }
    StoreReport.report(.lockWaited(store: store, for: elapsed))
  }

  /// The time since the beginning; `nil` when there was no observer.
  package var elapsed: Duration? { start.map { ContinuousClock.now - $0 } }
}
