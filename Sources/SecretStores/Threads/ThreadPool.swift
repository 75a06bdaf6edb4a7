import Dispatch
import Foundation
import Synchronization

/// A pool of a few threads outside the cooperative pool, which runs tasks.
///
/// For work that may block, and for work that others wait for, because the waiters may hold all
/// threads of the cooperative pool. A thread is started when no thread is free for a job, up to a
/// limit, and ends after it has been idle for a while.
package final class ThreadPool: TaskExecutor {
  private struct State {
    var jobs = FIFO<UnownedJob>()
    var threadCount = 0
    /// The number of threads that wait and have not been woken.
    var idleCount = 0
  }

  private let name: String
  private let maximumThreadCount: Int
  private let state = Mutex(State())
  private let work = DispatchSemaphore(value: 0)
  private static let idleTime = DispatchTimeInterval.seconds(5)

  /// Makes a pool without a thread.
  ///
  /// - Parameters:
  ///   - name: The name of its threads, up to 15 bytes.
  ///   - maximumThreadCount: How many jobs run at the same time, 1 or more.
  package init(_ name: String, maximumThreadCount: Int) {
    self.name = name
    self.maximumThreadCount = maximumThreadCount
  }

  /// Runs a job as soon as a thread is free.
  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let isThreadNeeded = state.withLock { state in
      state.jobs.append(job)
      if state.idleCount > 0 {
        state.idleCount -= 1
        work.signal()
        return false
      }
      guard state.threadCount < maximumThreadCount else { return false }
      state.threadCount += 1
      return true
    }
    guard isThreadNeeded else { return }
    let thread = Thread { self.run() }
    thread.name = name
    thread.start()
  }

  private func run() {
    unsafe pthread_setspecific(poolKey, UnsafeRawPointer(bitPattern: 1))
    while true {
      while let job = state.withLock({ $0.jobs.popFirst() }) {
        unsafe job.runSynchronously(on: self.asUnownedTaskExecutor())
      }
      guard waitForWork() else { return }
    }
  }

  /// Waits for a job; returns `false` when the thread should end.
  private func waitForWork() -> Bool {
    let isIdle = state.withLock { state in
      guard state.jobs.first == nil else { return false }
      state.idleCount += 1
      return true
    }
    guard isIdle, work.wait(timeout: .now() + Self.idleTime) == .timedOut else { return true }
    let isToEnd = state.withLock { state in
      // Otherwise all waiting threads have been woken, including this one.
      guard state.idleCount > 0 else { return false }
      state.idleCount -= 1
      state.threadCount -= 1
      return true
    }
    if !isToEnd { work.wait() }
    return !isToEnd
  }
}

extension ThreadPool {
  /// How many threads, of all pools, work may block at the same time.
  ///
  /// The others stay free for refreshes in stores that answer.
  private static let maximumBlockedCount = 16
  private static let blockedCount = Atomic(0)

  /// Returns whether work may block the current thread, until ``endBlocking()``.
  static func beginBlocking() -> Bool {
    guard unsafe pthread_getspecific(poolKey) != nil else { return false }
    let count = blockedCount.wrappingAdd(1, ordering: .relaxed).newValue
    if count > maximumBlockedCount { endBlocking() }
    return count <= maximumBlockedCount
  }

  /// Ends what ``beginBlocking()`` allowed.
  static func endBlocking() {
    blockedCount.wrappingSubtract(1, ordering: .relaxed)
  }
}

/// The key of a value that only the threads of pools have.
private let poolKey: pthread_key_t = {
  var key = pthread_key_t()
  let error = unsafe pthread_key_create(&key, nil)
  precondition(error == 0, "a process has 1,024 keys")
  return key
}()
