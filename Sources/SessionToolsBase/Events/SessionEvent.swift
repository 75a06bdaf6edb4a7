import Synchronization

/// Something that happened to a session or a store of this process, for logs and metrics.
///
/// ```swift
/// SessionEvent.observer = { event in print(event) }
/// ```
///
/// No event holds a secret, an item or who a user is. Sessions are named by their storage identifier
/// and stores by their path, as in the texts of errors. Later versions may add cases, so a `switch`
/// needs a `default`; ``description`` has a sentence for each.
public enum SessionEvent: Hashable, Sendable {
  /// A refresh has begun; one that waits for its turn has not.
  case refreshBegan(session: String)

  /// A refresh has ended, how, and how long it took, with all its tries and the pauses between them.
  case refreshEnded(session: String, RefreshEnd, after: Duration)

  /// A try of a refresh has failed: the number of those that failed since the last that worked, and
  /// why. Another may follow.
  case refreshTryFailed(session: String, count: Int, reason: String)

  /// A refresh waited, 10 ms or longer, while another process or session refreshed the item.
  case refreshWaited(session: String, for: Duration)

  /// This process signed a user out, and why; one that another process signs out is in the session's
  /// `states` alone.
  case signedOut(session: String, SignOut)

  /// A task or thread waited for a lock of a store, which it then got, no longer needed, or not in
  /// time; while another process writes, or another task or process has exclusive access to a name.
  case lockWaited(store: String, for: Duration)

  /// A store mended or met something that its owner may want to know: the text of its notice.
  case storeNotice(store: String, String)

  /// How a refresh ended.
  public enum RefreshEnd: Hashable, Sendable {
    /// There is a newer item, stored by this refresh or, meanwhile, by another.
    case refreshed
    /// The item was good already, mostly because another process had refreshed it.
    case notNeeded
    /// The server rejected what the item is refreshed with, and it was removed.
    case rejected
    /// It did not work, and why; the item is as it was.
    case failed(reason: String)
  }

  /// Why a user was signed out.
  public enum SignOut: Hashable, Sendable {
    /// The program did it; because of an error, if it gave one.
    case loggedOut(reason: String?)
    /// The server rejected what the session is refreshed with.
    case rejected(reason: String)
  }
}

// MARK: - Observing

extension SessionEvent {
  /// Is called with each event of this process; `nil`, the default, costs one load of a flag in each
  /// refresh, sign-out and contended lock, and nothing in any read or write.
  ///
  /// It is called on any thread, at once, and also while a lock is held that others wait for: it has to
  /// return soon, and must not call sessions and stores.
  public static var observer: (@Sendable (SessionEvent) -> Void)? {
    get { held.withLock(\.observer) }
    set {
      held.withLock { held in
        held.observer = newValue
        isFlagged.store(newValue != nil, ordering: .releasing)
      }
    }
  }

  /// Whether anyone wants to know.
  package static var isObserved: Bool { isFlagged.load(ordering: .relaxed) }

  /// Tells who wants to know; otherwise the event is not even made.
  package static func tell(_ event: @autoclosure () -> SessionEvent) {
    guard isObserved, let observer else { return }
    observer(event())
  }
}

private struct HeldObserver: Sendable {
  var observer: (@Sendable (SessionEvent) -> Void)?
}

private let isFlagged = Atomic(false)
private let held = Mutex(HeldObserver())

/// A time for an event, measured only while somebody observes.
package struct ObservedTime: Sendable {
  private let start: ContinuousClock.Instant?

  /// Begins now.
  package init() {
    start = SessionEvent.isObserved ? ContinuousClock.now : nil
  }

  /// Tells of an event that took the time since the beginning.
  package func tell(_ event: (Duration) -> SessionEvent?) {
    guard let start, let event = event(ContinuousClock.now - start) else { return }
    SessionEvent.tell(event)
  }
}

// MARK: - Texts

/// An error whose description holds no secret, whatever caused it.
package protocol SecretFreeError: Error, CustomStringConvertible {}

extension StoreError: SecretFreeError {}
extension SessionError: SecretFreeError {}
extension RefreshHandlerError: SecretFreeError {}

extension SessionEvent {
  /// What may be told of an error: its text where that holds no secret, otherwise its type alone.
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
      "session \(session): a refresh waited \(duration) for that of another process or session"
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
  /// How it ended, for a person.
  public var description: String {
    switch self {
    case .refreshed: "the item was refreshed"
    case .notNeeded: "the item was good already"
    case .rejected: "the server rejected the item for good"
    case .failed(let reason): "a refresh has failed: \(reason)"
    }
  }
}

extension SessionEvent.SignOut: CustomStringConvertible {
  /// Why, for a person.
  public var description: String {
    switch self {
    case .loggedOut(nil): "the user was signed out"
    case .loggedOut(let reason?): "the user was signed out because of an error: \(reason)"
    case .rejected(let reason): "the user was signed out by the server's rejection: \(reason)"
    }
  }
}
