package import Dispatch
import Synchronization

/// Threads for work that may block.
///
/// On Linux, Swift's tasks and every concurrent queue share one pool with a thread for each
/// processor, and about a second goes by until it grows by one: blocking there holds up every
/// task of the program. Only serial queues get threads beside that pool.
package final class BlockingLanes: Sendable {
  private let queues: [DispatchQueue]
  private let next = Atomic(0)

  /// Makes lanes; a thread is used only while one has work.
  ///
  /// - Parameters:
  ///   - label: Names the queues.
  ///   - count: How much can block at the same time, 1 or more.
  package init(_ label: String, count: Int) {
    queues = (1...count).map { DispatchQueue(label: "\(label).\($0)") }
  }

  /// A lane, in turn.
  package var queue: DispatchQueue {
    let turn = next.wrappingAdd(1, ordering: .relaxed).oldValue
    return queues[Int(UInt(bitPattern: turn) % UInt(queues.count))]
  }
}
