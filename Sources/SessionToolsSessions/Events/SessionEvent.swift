public import SecretStores
import Synchronization

/// Something that happened to a session or a store of this process, for logs and metrics.
///
/// ```swift
/// SessionEvent.observer = { event in print(event) }
/// ```
///
/// No event holds a secret or an item. Sessions are named by their storage identifier and stores by
/// their path, as in error texts. Only ``account`` says whose session it is, and no text does: a
/// program that logs it does so by choice. Later versions may add cases, so a `switch` needs a
/// `default`; ``description`` has a sentence for each.
public enum SessionEvent: Hashable, Sendable {
  /// A refresh began; one that still waits for its turn has not begun.
  case refreshBegan(session: ReportedSession)

  /// A refresh ended: how, and how long it took, including all tries and the pauses between them.
  case refreshEnded(session: ReportedSession, RefreshEnd, after: Duration)

  /// A try of a refresh failed: the number of failed tries since the last success, and the reason.
  ///
  /// Another try may follow.
  case refreshTryFailed(session: ReportedSession, count: Int, reason: String)

  /// A refresh waited 10 ms or longer while another process or session refreshed the item.
  case refreshWaited(session: ReportedSession, for: Duration)

  /// This process signed a user out, for this reason.
  ///
  /// Sign-outs by other processes are reported only in the session's `states`.
  case signedOut(session: ReportedSession, SignOutReason<String>)

  /// A task or thread waited for a lock of a store, and then got it, no longer needed it, or timed
  /// out.
  ///
  /// It waits while another process writes, or while another task or process has exclusive access
  /// to a name.
  case lockWaited(store: String, for: Duration)

  /// A store repaired or met something that its owner may want to know about: the text of its
  /// notice.
  case storeNotice(store: String, String)

  /// How a refresh ended.
  public enum RefreshEnd: Hashable, Sendable {
    /// A newer item is stored, by this refresh or, meanwhile, by another.
    case refreshed
    /// The item was already valid, mostly because another process had refreshed it.
    case notNeeded
    /// The server rejected the refresh permanently, and the item was removed.
    case rejected
    /// It failed, for this reason; the item is unchanged.
    case failed(reason: String)
  }
}

// MARK: - Observing

extension SessionEvent {
  /// Called with each event of this process; `nil`, the default, costs one load of a flag in each
  /// refresh, sign-out and contended lock, and nothing in any read or write.
  ///
  /// It is called on any thread, synchronously, and also while a lock is held that others wait for:
  /// it must return soon, and must not call sessions or stores.
  public static var observer: (@Sendable (SessionEvent) -> Void)? {
    get { held.withLock(\.observer) }
    set {
      held.withLock { held in
        held.observer = newValue
        StoreReport.observer = newValue.map(Self.passedOn)
      }
    }
  }

  /// Reports an event to the observer; without one the event is not even made.
  package static func report(_ event: @autoclosure () -> SessionEvent) {
    guard StoreReport.isObserved, let observer else { return }
    observer(event())
  }

  private static func passedOn(
    to observer: @escaping @Sendable (SessionEvent) -> Void
  ) -> @Sendable (StoreReport) -> Void {
    { observer(SessionEvent($0)) }
  }

  private init(_ report: StoreReport) {
    switch report {
    case .lockWaited(let store, let duration): self = .lockWaited(store: store, for: duration)
    case .notice(let store, let text): self = .storeNotice(store: store, text)
    }
  }
}

private struct HeldObserver: Sendable {
  var observer: (@Sendable (SessionEvent) -> Void)?
}

private let held = Mutex(HeldObserver())

extension ObservedTime {
  /// Reports an event that took the time since the beginning.
  package func report(_ event: (Duration) -> SessionEvent?) {
    guard let elapsed, let event = event(elapsed) else { return }
    SessionEvent.report(event)
  }
}

// MARK: - Texts

/// An error whose description holds no secret, whatever caused it.
package protocol SecretFreeError: Error, CustomStringConvertible {}

extension StoreError: SecretFreeError {}
extension SessionError: SecretFreeError {}

extension SessionEvent {
  /// Returns the reportable text of an error: its description if that holds no secret, otherwise
  /// only its type.
  static func reason(_ error: any Error) -> String {
    if case RefreshError.unableToRefresh(let cause) = error { return reason(cause) }
    return (error as? any SecretFreeError)?.description ?? "\(type(of: error))"
  }
}

extension SessionEvent: CustomStringConvertible {
  /// What happened, in a sentence of one line.
  public var description: String { text.escapingControls() }

  private var text: String {
    switch self {
    case .refreshBegan(let session):
      "session \(session): a refresh has begun"
    case .refreshEnded(let session, let end, let duration):
      "session \(session): \(end), after \(duration)"
    case .refreshTryFailed(let session, let count, let reason):
      "session \(session): try \(count) of a refresh has failed: \(reason)"
    case .refreshWaited(let session, let duration):
      "session \(session): a refresh waited \(duration) for another process or session"
    case .signedOut(let session, let reason):
      "session \(session): \(reason)"
    case .lockWaited(let store, let duration):
      "\(store): waited \(duration) for a lock"
    case .storeNotice(let store, let notice):
      "\(store): \(notice)"
    }
  }
}

extension SessionEvent.RefreshEnd: CustomStringConvertible {
  /// How the refresh ended, for a person.
  public var description: String {
    switch self {
    case .refreshed: "the item was refreshed"
    case .notNeeded: "the item was already valid"
    case .rejected: "the server permanently rejected the item"
    case .failed(let reason): "a refresh has failed: \(reason)"
    }
  }
}
