import Dispatch
import SessionToolsBase
import Synchronization

/// Changes that wait for the disk.
///
/// Those that come while one is being synced are written together when it is done: one change,
/// one write, one sync.
///
/// Whoever finds nobody at work leads: it commits its own changes and all that wait, then
/// hands the lead to the first who came meanwhile.
final class CommitQueue: Sendable {
  /// More than this is not written together.
  private static let largestBatchByteCount = 16 << 20

  private struct State {
    var waiting: [Request] = []
    var isLed = false
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
    let request = Request(changes)
    let isLeader = state.withLock { state in
      if state.isLed { state.waiting.append(request) }
      defer { state.isLed = true }
      return !state.isLed
    }
    if !isLeader {
      request.isAnsweredOrLeads.wait()
      if let result = request.result.withLock({ $0 }) { return try result.get() }
    }
    lead(request, commit: commit)
    guard let result = request.result.withLock({ $0 }) else {
      preconditionFailure("a leader answers its own request")
    }
    try result.get()
  }

  private func lead(_ own: Request, commit: ([StoreChange]) throws(StoreError) -> Void) {
    let batch = [own] + takeBatch(after: own)
    // A large change most likely comes alone, and is not copied then.
    let changes = batch.count == 1 ? own.changes : batch.flatMap(\.changes)
    answer(batch, Self.result { () throws(StoreError) in try commit(changes) })
    if batch.count > 1, case .failure(let error)? = own.result.withLock({ $0 }),
      error.code == StoreError.noSpace
    {
      // What does not fit together may fit one by one, and one's own size is one's own fault.
      for request in batch {
        answer([request], Self.result { () throws(StoreError) in try commit(request.changes) })
      }
    }
    for request in batch.dropFirst() {
      request.isAnsweredOrLeads.signal()
    }
    let next = state.withLock { state -> Request? in
      if state.waiting.isEmpty {
        state.isLed = false
        return nil
      }
      return state.waiting.removeFirst()
    }
    next?.isAnsweredOrLeads.signal()
  }

  private func takeBatch(after own: Request) -> [Request] {
    state.withLock { state in
      var byteCount = own.byteCount
      let fitting = state.waiting.prefix { request in
        byteCount += request.byteCount
        return byteCount <= Self.largestBatchByteCount
      }
      state.waiting.removeFirst(fitting.count)
      return Array(fitting)
    }
  }

  private func answer(_ requests: [Request], _ result: Result<Void, StoreError>) {
    for request in requests {
      request.result.withLock { $0 = result }
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

  private final class Request: Sendable {
    let changes: [StoreChange]
    let byteCount: Int
    let result = Mutex<Result<Void, StoreError>?>(nil)
    let isAnsweredOrLeads = DispatchSemaphore(value: 0)

    init(_ changes: [StoreChange]) {
      self.changes = changes
      byteCount = changes.reduce(0) { $0 + $1.recordByteCount }
    }
  }
}
