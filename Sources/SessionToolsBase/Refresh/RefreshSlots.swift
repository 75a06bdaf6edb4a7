import Synchronization

/// How many refreshes of this process are under way; the others wait in the order in which they came,
/// without a thread.
final class RefreshSlots: Sendable {
  /// Those of all sessions of this process.
  static let shared = RefreshSlots()

  private struct Waiter {
    let number: Int
    let largestCount: Int
    let signal: AsyncStream<Void>.Continuation
  }

  /// The process is ending: no refresh begins.
  struct Closed: Error {}

  private struct State {
    var isClosed = false
    var usedCount = 0
    var isUnused: AsyncStream<Void>.Continuation?
    var nextNumber = 0
    var waiters: [Waiter] = []

    /// Gives slots to those who wait longest.
    mutating func admit() -> [Waiter] {
      var admitted = 0
      while admitted < waiters.count, usedCount < waiters[admitted].largestCount {
        usedCount += 1
        admitted += 1
      }
      defer { waiters.removeFirst(admitted) }
      return Array(waiters.prefix(admitted))
    }
  }

  private let state = Mutex(State())

  /// Runs a closure while at most so many are run.
  ///
  /// A refresh that another one asks for, by its handler, takes part in that one's slot: all slots
  /// could be held by such as wait for a second one.
  ///
  /// - Throws: What the closure throws; ``Closed``, or `CancellationError` when the task is cancelled
  ///   while it waits.
  func withSlot<Result>(
    of largestCount: Int, isNested: Bool, _ body: () async throws -> Result
  ) async throws -> Result {
    if isNested { return try await body() }
    try await take(max(1, largestCount))
    defer { giveBack() }
    return try await body()
  }

  private func take(_ largestCount: Int) async throws {
    let waiting = try state.withLock { state -> (number: Int, signal: AsyncStream<Void>)? in
      if state.isClosed { throw Closed() }
      if state.waiters.isEmpty, state.usedCount < largestCount {
        state.usedCount += 1
        return nil
      }
      let (signal, continuation) = AsyncStream.makeStream(of: Void.self)
      state.nextNumber += 1
      state.waiters.append(
        Waiter(number: state.nextNumber, largestCount: largestCount, signal: continuation))
      return (state.nextNumber, signal)
    }
    guard let waiting else { return }
    // Ends when the slot is given, and when the task is cancelled.
    for await _ in waiting.signal {}
    let isGiven = state.withLock { state in
      guard let place = state.waiters.firstIndex(where: { $0.number == waiting.number }) else {
        return true
      }
      state.waiters.remove(at: place)
      return false
    }
    guard !isGiven else { return }
    if state.withLock(\.isClosed) { throw Closed() }
    throw CancellationError()
  }

  private func giveBack() {
    let (admitted, unused) = state.withLock { state in
      state.usedCount -= 1
      let unused = state.usedCount == 0 ? state.isUnused.take() : nil
      return (state.isClosed ? [] : state.admit(), unused)
    }
    for waiter in admitted { waiter.signal.finish() }
    unused?.finish()
  }

  /// Gives no slot any more, and waits until none is used.
  func close() async {
    let (waiters, unused) = state.withLock { state in
      state.isClosed = true
      guard state.usedCount > 0 else { return (state.waiters, nil as AsyncStream<Void>?) }
      let (signal, continuation) = AsyncStream.makeStream(of: Void.self)
      state.isUnused = continuation
      return (state.waiters, signal)
    }
    for waiter in waiters { waiter.signal.finish() }
    guard let unused else { return }
    for await _ in unused {}
  }
}
