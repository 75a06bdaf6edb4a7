import Dispatch
import Glibc
import SessionToolsBase
import Synchronization

/// Changes that wait for the disk.
///
/// Those that come while one is being synced are written together when it is done: one change,
/// one write, one sync.
///
/// Whoever begins a batch leads it: when its turn comes, it commits the changes of all who
/// joined. It waits a moment for those who were answered just now: commonly they have more to
/// write, and would else wait for the sync after this one. When all have come, the last of them
/// leads in its place, since that one is awake.
final class CommitQueue: Sendable {
  /// More than this is not written together.
  private static let largestBatchByteCount = 16 << 20
  /// The part of the last commit's time that the next waits for others, and the most of it.
  private static let gatheringShare = 0.5
  private static let longestGathering = Duration.milliseconds(2)
  /// For so long who waits for others lets them run, and does not sleep: they come within
  /// microseconds, and to be woken takes tens of them.
  private static let longestYielding = Duration.microseconds(200)

  private struct State {
    /// Those whose commit has not begun; the last is joined, the first may be gathering.
    var batches: [Batch] = []
    /// Whether someone gathers or commits.
    var isLed = false
    /// How many requests the last commit answered, when it ended, and how long it took.
    var last = (count: 0, end: ContinuousClock.now, duration: Duration.zero)
  }

  private enum Place {
    /// Commits without a batch, where nobody else is at work and nobody is waited for.
    case alone
    case batch(Batch, place: Int, role: Role)
  }

  private enum Role {
    case leader
    /// Leads when it is the batch's turn.
    case nextLeader
    case follower
  }

  private let state = Mutex(State())

  /// Commits a list of changes, together with others.
  ///
  /// - Parameters:
  ///   - changes: What to change.
  ///   - byteCount: What they take in the journal.
  ///   - commit: Makes the changes of several requests durable, all or none.
  /// - Throws: What the commit throws.
  func submit(
    _ changes: [StoreChange], byteCount: Int,
    commit: ([StoreChange]) throws(StoreError) -> Void
  ) throws(StoreError) {
    switch join(changes, byteCount) {
    case .alone:
      let start = ContinuousClock.now
      defer { end(answered: 1, since: start) }
      return try commit(changes)
    case .batch(let batch, let place, let role):
      switch role {
      case .follower: batch.answered?.wait()
      case .leader where place > 0: lead(batch, commit: commit)
      case .leader, .nextLeader:
        if role == .nextLeader { batch.turn?.wait() }
        if gather(batch, wasAnswered: role == .leader) {
          lead(batch, commit: commit)
        } else {
          batch.answered?.wait()
        }
      }
      try batch.results.withLock { $0[place] }.get()
    }
  }

  /// Ends a commit, and lets the next batch begin.
  private func end(answered count: Int, since start: ContinuousClock.Instant) {
    let end = ContinuousClock.now
    let next = state.withLock { state -> Batch? in
      state.last = (count, end, end - start)
      state.isLed = !state.batches.isEmpty
      return state.batches.first
    }
    next?.turn?.signal()
  }

  /// Joins the last batch, or begins one, whose leader is the first in it.
  private func join(_ changes: [StoreChange], _ byteCount: Int) -> Place {
    state.withLock { state in
      if !state.isLed, state.last.count <= 1 {
        state.isLed = true
        return .alone
      }
      if let batch = state.batches.last,
        batch.byteCount + byteCount <= Self.largestBatchByteCount
      {
        batch.requests.append(changes)
        batch.byteCount += byteCount
        let isComplete = !batch.isTaken && batch.requests.count == batch.completeCount
        if isComplete { batch.complete() } else { batch.beAwaited() }
        return .batch(
          batch, place: batch.requests.count - 1, role: isComplete ? .leader : .follower)
      }
      let batch = Batch(changes, byteCount, hasToWait: state.isLed)
      state.batches.append(batch)
      defer { state.isLed = true }
      return .batch(batch, place: 0, role: state.isLed ? .nextLeader : .leader)
    }
  }

  /// Waits for those who were answered by the last commit, if there were several at work.
  ///
  /// - Parameters:
  ///   - batch: What they may join, the first in the queue.
  ///   - wasAnswered: Whether its leader is one of them.
  /// - Returns: Whether the leader still leads.
  private func gather(_ batch: Batch, wasAnswered: Bool) -> Bool {
    let patience = state.withLock { state -> Duration? in
      let missingCount = wasAnswered ? state.last.count - 1 : state.last.count
      let most = min(state.last.duration * Self.gatheringShare, Self.longestGathering)
      let left = state.last.end + most - .now
      guard state.batches.count == 1, left > .zero else { return nil }
      batch.completeCount = batch.requests.count + missingCount
      batch.beAwaited()
      return left
    }
    guard let patience else { return true }
    let start = ContinuousClock.now
    let yielding = min(patience, Self.longestYielding)
    while !batch.isComplete.load(ordering: .relaxed) {
      guard ContinuousClock.now - start < yielding else {
        let left = DispatchTime.now() + (patience - yielding) / .seconds(1)
        if batch.answered?.wait(timeout: left) == .success { return false }
        break
      }
      sched_yield()
    }
    return state.withLock { _ in
      defer { batch.isTaken = true }
      return !batch.isTaken
    }
  }

  private func lead(_ batch: Batch, commit: ([StoreChange]) throws(StoreError) -> Void) {
    // Nobody joins it any more.
    let requests = state.withLock { state in
      state.batches.removeFirst()
      return batch.requests
    }
    let start = ContinuousClock.now
    // A large change most likely comes alone, and is not copied then.
    let changes = requests.count == 1 ? requests[0] : requests.flatMap(\.self)
    let result = Self.result { () throws(StoreError) in try commit(changes) }
    var results = Array(repeating: result, count: requests.count)
    if requests.count > 1, case .failure(let error) = result, error.code == StoreError.noSpace {
      // What does not fit together may fit one by one, and one's own size is one's own fault.
      results = requests.map { request in
        Self.result { () throws(StoreError) in try commit(request) }
      }
    }
    batch.results.withLock { $0 = results }
    end(answered: requests.count, since: start)
    // Wakes all of them at once.
    batch.answered?.leave()
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

  /// Requests that are committed together.
  ///
  /// What can change is only touched under the queue's lock: this makes the unchecked conformance
  /// true.
  private final class Batch: @unchecked Sendable {
    var requests: [[StoreChange]]
    var byteCount: Int
    /// With how many requests it is complete, once its leader has begun to wait for them.
    var completeCount: Int?
    /// Whether it is decided who leads: whoever made it complete, or its leader after the waiting.
    var isTaken = false
    /// Whether all have come that its leader waits for.
    let isComplete = Atomic(false)
    /// What became of each request, once they are answered.
    let results = Mutex<[Result<Void, StoreError>]>([])
    /// Signalled when it is the batch's turn, if that has to be waited for.
    let turn: DispatchSemaphore?
    /// Left when there are results, if anyone waits for them; not changed once nobody can join.
    private(set) var answered: DispatchGroup?

    init(_ changes: [StoreChange], _ byteCount: Int, hasToWait: Bool) {
      requests = [changes]
      self.byteCount = byteCount
      turn = hasToWait ? DispatchSemaphore(value: 0) : nil
    }

    func complete() {
      isTaken = true
      isComplete.store(true, ordering: .relaxed)
    }

    /// Makes sure that the results can be waited for.
    func beAwaited() {
      guard answered == nil else { return }
      let group = DispatchGroup()
      group.enter()
      answered = group
    }
  }
}
