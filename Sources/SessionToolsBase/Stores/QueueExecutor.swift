import Dispatch

/// Runs a task on a thread beside the cooperative pool.
///
/// For work that others wait for who may hold all threads of that pool, and for what may block.
package final class QueueExecutor: TaskExecutor {
  private let queue: DispatchQueue

  /// Makes a queue.
  ///
  /// - Parameter label: Names it.
  package init(_ label: String) {
    queue = DispatchQueue(label: label)
  }

  /// Runs a job on the queue.
  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
