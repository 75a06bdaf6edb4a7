package import Dispatch
import Synchronization

/// Queues with threads of their own, for work that may block.
///
/// On Linux, Swift's tasks and every concurrent queue share one pool with a thread for each
/// processor, and the pool takes about a second to grow by one: blocking there holds up every task
/// of the program. Only serial queues get threads outside that pool.
package final class BlockingQueues: Sendable {
  private let queues: [DispatchQueue]
  private let turn = Atomic(0)
  /// How much work runs on the threads of its callers.
  private let onThreadCount = Atomic(0)

  /// Makes the queues; each uses a thread only while it has work.
  ///
  /// - Parameters:
  ///   - label: The prefix of the queues' labels.
  ///   - count: How many blocking calls can run at the same time, 1 or more.
  package init(_ label: String, count: Int) {
    queues = (1...count).map { DispatchQueue(label: "\(label).\($0)") }
  }

  /// Runs work that may block: on the caller's thread if that may be blocked, otherwise on the next
  /// queue, while the task is suspended.
  ///
  /// A thread of a ``ThreadPool`` may be blocked, unless it runs an actor, which others may wait
  /// for, or as much work as there are queues blocks such threads already. Work that is passed to
  /// another thread and back waits until two threads are woken, longer than reading an item takes.
  ///
  /// - Throws: What the work throws.
  package func blocking<Value, Failure: Error>(
    _ work: @escaping @Sendable () throws(Failure) -> sending Value
  ) async throws(Failure) -> sending Value {
    guard beginOnThread() else { return try await next.blocking(work) }
    defer { endOnThread() }
    return try work()
  }

  private func beginOnThread(of actor: (any Actor)? = #isolation) -> Bool {
    guard actor == nil, ThreadPool.beginBlocking() else { return false }
    let count = onThreadCount.wrappingAdd(1, ordering: .relaxed).newValue
    if count > queues.count { endOnThread() }
    return count <= queues.count
  }

  private func endOnThread() {
    onThreadCount.wrappingSubtract(1, ordering: .relaxed)
    ThreadPool.endBlocking()
  }

  /// The next queue, in rotation.
  package var next: DispatchQueue {
    let turn = turn.wrappingAdd(1, ordering: .relaxed).oldValue
    return queues[Int(UInt(bitPattern: turn) % UInt(queues.count))]
  }
}
