import SessionToolsBase

/// The threads on which tasks and queues run.
enum TaskThreads {
  private static let path = "/proc/self/task"

  /// Why tasks and queues cannot be used; `nil` if they can.
  ///
  /// When work has waited for a thread for a second, libdispatch counts the threads that run, by
  /// files in `/proc`, and ends the process if it cannot (its `src/event/workqueue.c`).
  static var problem: StoreError? {
    guard !Files.exists(path) else { return nil }
    return StoreError(
      .unavailable, store: path, reason: "what this command does needs /proc, which is not here",
      remedy: "Mount /proc")
  }

  /// Checks that tasks and queues can be used.
  ///
  /// - Throws: `unavailable` if they cannot.
  static func check() throws(StoreError) {
    if let problem { throw problem }
  }
}
