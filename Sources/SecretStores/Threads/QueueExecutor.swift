import Dispatch

/// An executor that runs tasks on a thread outside the cooperative pool.
///
/// For work that may block, and for work that others wait for, because the waiters may hold all
/// threads of the cooperative pool.
package final class QueueExecutor: TaskExecutor {
  private let queue: DispatchQueue

  /// Makes a queue.
  ///
  /// - Parameter label: The queue's label.
  package init(_ label: String) {
    queue = DispatchQueue(label: label)
  }

  /// Runs a job on the queue.
  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
