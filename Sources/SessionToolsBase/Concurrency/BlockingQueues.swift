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

  /// Makes the queues; each uses a thread only while it has work.
  ///
  /// - Parameters:
  ///   - label: The prefix of the queues' labels.
  ///   - count: How many blocking calls can run at the same time, 1 or more.
  package init(_ label: String, count: Int) {
    queues = (1...count).map { DispatchQueue(label: "\(label).\($0)") }
  }

  /// Runs work that may block: at once on a thread of a ``ThreadPool`` that may be blocked,
  /// otherwise on the next queue, while the task is suspended.
  ///
  /// Work that is passed to another thread and back waits for two threads to be woken, which takes
  /// longer than reading an item.
  ///
  /// - Throws: What the work throws.
  package func blocking<Value, Failure: Error>(
    _ work: @escaping @Sendable () throws(Failure) -> sending Value
  ) async throws(Failure) -> sending Value {
    guard ThreadPool.beginBlocking() else { return try await next.blocking(work) }
    defer { ThreadPool.endBlocking() }
    return try work()
  }

  /// The next queue, in rotation.
  package var next: DispatchQueue {
    let turn = turn.wrappingAdd(1, ordering: .relaxed).oldValue
    return queues[Int(UInt(bitPattern: turn) % UInt(queues.count))]
  }
}
