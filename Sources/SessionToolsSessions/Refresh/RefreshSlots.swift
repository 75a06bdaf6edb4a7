import SecretStores
import Synchronization

/// The limit on this process's refreshes under way; the others wait in order of arrival, without a
/// thread or a task.
final class RefreshSlots: Sendable {
  /// The slots for all sessions of this process.
  static let shared = RefreshSlots()

  /// The process is ending: no refresh begins.
  struct Closed: Error {}

  private struct Waiter {
    let maximumCount: Int
    let begin: @Sendable (Result<RefreshSlot, Closed>) -> Void
  }

  private struct State {
    var isClosed = false
    /// The number of refreshes that count towards the limit.
    var usedCount = 0
    /// The number of those and of the refreshes that made room for others.
    var underWayCount = 0
    var waiters = FIFO<Waiter>()
    var closings: [FirstAnswer<Void>] = []

    /// Removes and returns the waiters that may begin.
    mutating func admit() -> [Waiter] {
      var admitted: [Waiter] = []
      while let next = waiters.first, usedCount < next.maximumCount {
        usedCount += 1
        underWayCount += 1
        admitted.append(next)
        _ = waiters.popFirst()
      }
      return admitted
    }
  }

  private let state = Lock(State())

  /// Begins an operation as soon as fewer than `maximumCount` are under way.
  ///
  /// - Parameters:
  ///   - maximumCount: How many may be under way at the same time.
  ///   - begin: Called once, at once or later, on any thread; must not block.
  func take(
    of maximumCount: Int, _ begin: @escaping @Sendable (Result<RefreshSlot, Closed>) -> Void
  ) {
    let isClosed = state.withLock { state in
      if !state.isClosed {
        state.waiters.append(Waiter(maximumCount: max(1, maximumCount), begin: begin))
      }
      return state.isClosed
    }
    if isClosed { begin(.failure(Closed())) } else { admit() }
  }

  /// Waits until fewer than `maximumCount` operations are under way.
  ///
  /// - Throws: ``Closed``.
  func take(of maximumCount: Int) async throws -> RefreshSlot {
    try await withCheckedContinuation { continuation in
      take(of: maximumCount) { continuation.resume(returning: $0) }
    }.get()
  }

  private func admit() {
    for waiter in state.withLock({ $0.admit() }) { waiter.begin(.success(RefreshSlot(of: self))) }
  }

  fileprivate func makeRoom() {
    state.withLock { $0.usedCount -= 1 }
    admit()
  }

  fileprivate func recordEnd() {
    let closings = state.withLock { state in
      state.underWayCount -= 1
      return state.underWayCount == 0 ? state.closings : []
    }
    for closing in closings { closing.give(()) }
  }

  /// Gives no more slots, and waits until nothing is under way or the task is cancelled.
  func close() async {
    let closing = FirstAnswer<Void>()
    let waiters = state.withLock { state in
      state.isClosed = true
      if state.underWayCount == 0 { closing.give(()) } else { state.closings.append(closing) }
      return state.waiters.popAll()
    }
    for waiter in waiters { waiter.begin(.failure(Closed())) }
    await closing.value(whenCancelled: ())
  }
}

/// A slot of a refresh under way, until it is given back.
final class RefreshSlot: Sendable {
  private let slots: RefreshSlots
  private let isUsed = Atomic(true)
  private let isUnderWay = Atomic(true)

  fileprivate init(of slots: RefreshSlots) {
    self.slots = slots
  }

  deinit {
    giveBack()
  }

  /// Lets the next refresh begin, though this one is still under way.
  func makeRoom() {
    if isUsed.exchange(false, ordering: .acquiringAndReleasing) { slots.makeRoom() }
  }

  /// Ends the refresh, and lets the next one begin.
  func giveBack() {
    makeRoom()
    if isUnderWay.exchange(false, ordering: .acquiringAndReleasing) { slots.recordEnd() }
  }
}
