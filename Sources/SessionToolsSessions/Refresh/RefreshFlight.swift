import SecretStores
import Synchronization

/// One refresh under way, and its waiters.
///
/// It belongs to none of its waiters: one that gives up does not affect the others.
final class RefreshFlight: Sendable {
  /// The refreshes that the current task is part of, through their handlers.
  @TaskLocal static var around: [RefreshFlight] = []

  private struct State {
    var task: Task<Void, Never>?
    var result: Result<RefreshEnding, any Error>?
    /// Whether the refresh has begun to store the new item.
    var isStoring = false
    /// The item that the refresh has stored.
    var stored: SecretBytes?
    var nextNumber = 0
    var waiters: [Int: FirstAnswer<End>] = [:]
  }

  fileprivate enum End {
    case ended, timedOut, cancelled
  }

  /// The store object that the new item is stored in; `nil` where it is not handed over.
  private let reader: ObjectIdentifier?
  private let state = Mutex(State())

  /// Makes a refresh that has not begun.
  init(reader: ObjectIdentifier?) {
    self.reader = reader
  }

  /// Ends the refresh, and resumes all waiters.
  func end(with result: Result<RefreshEnding, any Error>) {
    let waiters = state.withLock { state in
      state.result = result
      state.task = nil
      defer { state.waiters = [:] }
      return state.waiters.values
    }
    for waiter in waiters { waiter.give(.ended) }
  }

  /// Whether the refresh has ended.
  var isEnded: Bool { state.withLock { $0.result != nil } }

  /// Begins the refresh with a new task, which can be cancelled from its first moment on.
  func begin(_ start: () -> Task<Void, Never>) {
    state.withLock { $0.task = start() }
  }

  /// Asks the handler to end by cancelling its task; the try then counts as failed.
  func cancel() {
    state.withLock { $0.task }?.cancel()
  }

  /// Records that the refresh is about to store the new item.
  func beginStoring() {
    state.withLock { $0.isStoring = true }
  }

  /// Records that the refresh has stored the item that it ends with.
  func endStoring(_ bytes: SecretBytes?) {
    state.withLock { $0.stored = bytes }
  }

  // MARK: - Waiting

  /// A caller that waits for the end.
  struct Waiter {
    fileprivate let number: Int
    fileprivate let end: FirstAnswer<End>
    /// Whether the item that is stored may be handed over: one who comes later, or reads from
    /// another store object, may know of a newer change.
    fileprivate let mayGetStoredItem: Bool
  }

  /// Begins to wait for the end, for a caller that would read the item from a store object.
  ///
  /// - Returns: The waiter; `nil` when the refresh has ended.
  /// - Throws: `tooManyWaiters` or `reentrant`.
  func join(
    _ policy: RefreshPolicy, session: String, reader: ObjectIdentifier?
  ) throws(SessionError) -> Waiter? {
    if Self.around.contains(where: { $0 === self }) {
      throw SessionError(
        .reentrant, session: session,
        "the refresh handler asked for a valid item, and would wait forever: "
          + "use the item of its request")
    }
    return try state.withLock { state throws(SessionError) in
      guard state.result == nil else { return nil }
      guard state.waiters.count < policy.maximumWaiterCount else {
        throw SessionError(
          .tooManyWaiters, session: session,
          "\(policy.maximumWaiterCount) tasks are already waiting for the refresh")
      }
      let end = FirstAnswer<End>()
      state.nextNumber += 1
      state.waiters[state.nextNumber] = end
      return Waiter(
        number: state.nextNumber, end: end,
        mayGetStoredItem: reader != nil && reader == self.reader && !state.isStoring)
    }
  }

  /// Waits for the end, for a caller that joined; `nil` when the refresh had ended by then.
  ///
  /// - Returns: The result of the refresh.
  /// - Throws: The error that the refresh ended with; `timedOut` or `CancellationError`.
  func outcome(
    for waiter: Waiter?, _ policy: RefreshPolicy, by clock: any SessionClock, session: String
  ) async throws -> RefreshedItem {
    guard let waiter else { return try result(for: nil, after: .ended, policy, session) }
    let end = waiter.end
    let alarm = clock.after(policy.timeout) { end.give(.timedOut) }
    let given = await end.value(whenCancelled: .cancelled)
    alarm.cancel()
    return try result(for: waiter, after: given, policy, session)
  }

  // Not a part of the function that waits, where each waiter would keep room for what this needs.
  private func result(
    for waiter: Waiter?, after end: End, _ policy: RefreshPolicy, _ session: String
  ) throws -> RefreshedItem {
    let (result, stored) = state.withLock { state in
      if let waiter { state.waiters[waiter.number] = nil }
      return (state.result, state.stored)
    }
    if let result {
      return RefreshedItem(
        isNew: try result.get().isNew, bytes: waiter?.mayGetStoredItem == true ? stored : nil)
    }
    if end == .cancelled { throw CancellationError() }
    throw SessionError(
      .timedOut, session: session,
      "the refresh has not ended within \(policy.timeout); it continues")
  }
}

/// The result of a refresh, for a waiter.
struct RefreshedItem: Sendable {
  /// Whether the item is a new one.
  let isNew: Bool
  /// Whether the waiter joined a refresh that another one had begun.
  var wasJoined = false
  /// The stored item; `nil` when it must be read.
  let bytes: SecretBytes?
}

extension RefreshEnding {
  /// Whether the item is a new one.
  ///
  /// - Throws: `rejected` when it was removed.
  fileprivate var isNew: Bool {
    get throws {
      switch self {
      case .isNew: true
      case .wasValidAlready: false
      case .wasRejected(let error, _, _): throw error
      }
    }
  }
}
