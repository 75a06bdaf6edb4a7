import Dispatch
import SessionToolsBase
import Synchronization

/// Changes that wait for the disk.
///
/// Those that come while one is being synced are written together when it is done: one change,
/// one write, one sync.
///
/// Whoever finds nobody at work leads: it commits its own changes and all that wait, then
/// hands the lead to the first who came meanwhile. That one waits a moment for those who were
/// answered just now: commonly they have more to write, and would else wait for the sync after
/// this one.
final class CommitQueue: Sendable {
  /// More than this is not written together.
  private static let largestBatchByteCount = 16 << 20
  /// The part of the last commit's time that the next waits for others, and the most of it.
  private static let gatheringShare = 0.5
  private static let longestGathering = Duration.milliseconds(2)

  private struct State {
    var waiting: [Request] = []
    var isLed = false
    /// How many requests the last commit answered, when it ended, and how long it took.
    var last = (count: 0, end: ContinuousClock.now, duration: Duration.zero)
    /// Who is woken when so many wait.
    var gathering: (wake: DispatchSemaphore, count: Int)?
  }

  private let state = Mutex(State())

  /// Commits a list of changes, together with others.
  ///
  /// - Parameters:
  ///   - changes: What to change.
  ///   - commit: Makes the changes of several requests durable, all or none.
  /// - Throws: What the commit throws.
  func submit(
    _ changes: [StoreChange], commit: ([StoreChange]) throws(StoreError) -> Void
  ) throws(StoreError) {
    let request = state.withLock { state -> Request? in
      guard state.isLed else {
        state.isLed = true
        return nil
      }
      let request = Request(changes)
      state.waiting.append(request)
      if let gathering = state.gathering, state.waiting.count >= gathering.count {
        state.gathering = nil
        gathering.wake.signal()
      }
      return request
    }
    if let request {
      request.wake.wait()
      if let result = request.result.withLock({ $0 }) { return try result.get() }
    }
    gather(wasAnswered: request == nil)
    try lead(changes, commit: commit)
  }

  /// Waits for those who were answered by the last commit, if there were several at work.
  ///
  /// - Parameter wasAnswered: Whether the leader is one of them.
  private func gather(wasAnswered: Bool) {
    let wake = state.withLock { state -> (DispatchSemaphore, Duration)? in
      let missingCount = wasAnswered ? state.last.count - 1 : state.last.count
      guard missingCount > 0 else { return nil }
      let most = min(state.last.duration * Self.gatheringShare, Self.longestGathering)
      let left = state.last.end + most - .now
      guard left > .zero else { return nil }
      let wake = DispatchSemaphore(value: 0)
      state.gathering = (wake, state.waiting.count + missingCount)
      return (wake, left)
    }
    guard let (wake, left) = wake else { return }
    _ = wake.wait(timeout: .now() + left / .seconds(1))
    state.withLock { $0.gathering = nil }
  }

  private func lead(
    _ own: [StoreChange], commit: ([StoreChange]) throws(StoreError) -> Void
  ) throws(StoreError) {
    let others = takeBatch(after: own)
    let start = ContinuousClock.now
    // A large change most likely comes alone, and is not copied then.
    let changes = others.isEmpty ? own : own + others.flatMap(\.changes)
    var result = Self.result { () throws(StoreError) in try commit(changes) }
    if !others.isEmpty, case .failure(let error) = result, error.code == StoreError.noSpace {
      // What does not fit together may fit one by one, and one's own size is one's own fault.
      result = Self.result { () throws(StoreError) in try commit(own) }
      for request in others {
        request.answer(Self.result { () throws(StoreError) in try commit(request.changes) })
      }
    } else {
      for request in others { request.answer(result) }
    }
    let end = ContinuousClock.now
    let next = state.withLock { state -> Request? in
      state.last = (1 + others.count, end, end - start)
      if state.waiting.isEmpty {
        state.isLed = false
        return nil
      }
      return state.waiting.removeFirst()
    }
    next?.wake.signal()
    for request in others { request.wake.signal() }
    try result.get()
  }

  private func takeBatch(after own: [StoreChange]) -> [Request] {
    state.withLock { state in
      guard !state.waiting.isEmpty else { return [] }
      var byteCount = Request.byteCount(of: own)
      let fitting = state.waiting.prefix { request in
        byteCount += Request.byteCount(of: request.changes)
        return byteCount <= Self.largestBatchByteCount
      }
      state.waiting.removeFirst(fitting.count)
      return Array(fitting)
    }
  }

  private static func result(
    _ body: () throws(StoreError) -> Void
  ) -> Result<Void, StoreError> {
    do throws(StoreError) {
      return .success(try body())
    } catch {
      return .failure(error)
    }
  }

  /// Changes of one who waits.
  private final class Request: Sendable {
    let changes: [StoreChange]
    let result = Mutex<Result<Void, StoreError>?>(nil)
    /// Signalled when there is a result, or when it is this one's turn to lead.
    let wake = DispatchSemaphore(value: 0)

    init(_ changes: [StoreChange]) {
      self.changes = changes
    }

    func answer(_ result: Result<Void, StoreError>) {
      self.result.withLock { $0 = result }
    }

    static func byteCount(of changes: [StoreChange]) -> Int {
      changes.reduce(0) { $0 + $1.recordByteCount }
    }
  }
}
