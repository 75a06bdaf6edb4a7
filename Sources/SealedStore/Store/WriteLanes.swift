import Dispatch
public import SessionToolsBase
import Synchronization

/// Threads for changes, which may wait long: for the disk, and for another process.
///
/// On Linux, Swift's tasks and every concurrent queue share one pool with a thread for each
/// processor, and a second goes by until it grows by one. A change that waits on it would hold
/// up every task of the program. Only serial queues get threads beside that pool; there are
/// several, so that changes can still share a write.
final class WriteLanes: Sendable {
  private let lanes = (1...8).map { DispatchQueue(label: "session-tools.sealed-store.\($0)") }
  private let next = Atomic(0)

  var queue: DispatchQueue {
    lanes[next.wrappingAdd(1, ordering: .relaxed).oldValue & 7]
  }
}

extension SealedFileStore {
  /// Runs the blocking twin on a thread of its own.
  ///
  /// - Throws: As the blocking twin.
  public func asyncApply(_ changes: [StoreChange]) async throws(StoreError) {
    try await withCheckedContinuation { continuation in
      writeLanes.queue.async {
        continuation.resume(
          returning: Result { () throws(StoreError) in try self.apply(changes) })
      }
    }.get()
  }
}
