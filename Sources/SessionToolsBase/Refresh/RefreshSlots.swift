import Synchronization

/// How many refreshes of this process are under way; the others wait in the order in which they came,
/// without a thread or a task.
final class RefreshSlots: Sendable {
  /// Those of all sessions of this process.
  static let shared = RefreshSlots()

  /// The process is ending: no refresh begins.
  struct Closed: Error {}

  private struct Waiter {
    let largestCount: Int
    let begin: @Sendable (Result<RefreshSlot, Closed>) -> Void
  }

  private struct State {
    var isClosed = false
    /// Those of which the next has to wait for one to end.
    var usedCount = 0
    /// Those and the ones that made room for others.
    var underWayCount = 0
    var waiters = FIFO<Waiter>()
    var closings: [FirstAnswer<Void>] = []

    /// Takes those out that may begin.
    mutating func admit() -> [Waiter] {
      var admitted: [Waiter] = []
      while let next = waiters.first, usedCount < next.largestCount {
        usedCount += 1
        underWayCount += 1
        admitted.append(next)
        _ = waiters.popFirst()
      }
      return admitted
    }
  }

  private let state = Mutex(State())

  /// Begins something as soon as fewer than so many are under way.
  ///
  /// - Parameters:
  ///   - largestCount: How many may be.
  ///   - begin: Called once, at once or later, on any thread; must not block.
  func take(
    of largestCount: Int, _ begin: @escaping @Sendable (Result<RefreshSlot, Closed>) -> Void
  ) {
    let isClosed = state.withLock { state in
      if !state.isClosed {
        state.waiters.append(Waiter(largestCount: max(1, largestCount), begin: begin))
      }
      return state.isClosed
    }
    if isClosed { begin(.failure(Closed())) } else { admit() }
  }

  /// Waits until fewer than so many are under way.
  ///
  /// - Throws: ``Closed``.
  func take(of largestCount: Int) async throws -> RefreshSlot {
    try await withCheckedContinuation { continuation in
      take(of: largestCount) { continuation.resume(returning: $0) }
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

  /// Gives no slot any more, and waits until nothing is under way or the task is cancelled.
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

/// That a refresh is under way, until this is given back.
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

  /// Lets the next begin, though this one is still under way.
  func makeRoom() {
    if isUsed.exchange(false, ordering: .acquiringAndReleasing) { slots.makeRoom() }
  }

  /// Ends, and lets the next begin.
  func giveBack() {
    makeRoom()
    if isUnderWay.exchange(false, ordering: .acquiringAndReleasing) { slots.recordEnd() }
  }
}
