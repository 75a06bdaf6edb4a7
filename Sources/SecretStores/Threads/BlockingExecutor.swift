import CSessionToolsLinux
package import Dispatch
import Glibc
import Synchronization

/// An executor with threads of its own, for work that may block, and for work that others wait for.
///
/// On Linux, Swift's tasks and all concurrent queues share one pool with a thread for each
/// processor, and the pool takes about a second to grow by one: blocking there holds up every task
/// of the program, and tasks that wait may hold all of its threads.
///
/// All executors of a process share their threads. A thread is started when work is to begin and
/// none is idle, and ends after 5 idle seconds. So there are at most as many threads as the
/// executors that have work allow together.
public final class BlockingExecutor: TaskExecutor {
  private struct State {
    var waiting = FIFO<@Sendable () -> Void>()
    var threadCount = 0
  }

  private let maximumThreadCount: Int
  private let threads: IdleThreads
  private let state = Lock(State())

  /// Makes an executor, which uses a thread only while it has work.
  ///
  /// - Parameter maximumThreadCount: How many jobs run at the same time, 1 or more.
  public convenience init(maximumThreadCount: Int) {
    self.init(maximumThreadCount: maximumThreadCount, threads: .shared)
  }

  package init(maximumThreadCount: Int, threads: IdleThreads) {
    precondition(maximumThreadCount > 0, "without a thread no work is done")
    self.maximumThreadCount = maximumThreadCount
    self.threads = threads
  }

  /// Runs a job as soon as the executor has a thread for it, in order of arrival.
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    run { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }

  /// Runs work that may block as soon as the executor has a thread for it, in order of arrival.
  package func run(_ work: @escaping @Sendable () -> Void) {
    let begins = state.withLock { state in
      state.waiting.append(work)
      guard state.threadCount < maximumThreadCount else { return false }
      state.threadCount += 1
      return true
    }
    if begins {
      threads.run { while let next = self.next() { next() } }
    }
  }

  private func next() -> (@Sendable () -> Void)? {
    state.withLock { state in
      let next = state.waiting.popFirst()
      if next == nil { state.threadCount -= 1 }
      return next
    }
  }

  /// Runs work that may block, while the task is suspended.
  ///
  /// - Throws: What the work throws.
  package func blocking<Value, Failure: Error>(
    _ work: @escaping @Sendable () throws(Failure) -> sending Value
  ) async throws(Failure) -> sending Value {
    try await result(of: work).get()
  }

  /// Runs work as ``blocking(_:)``, and returns its result, where errors of one type cannot be
  /// thrown.
  package func result<Value, Failure: Error>(
    of work: @escaping @Sendable () throws(Failure) -> sending Value
  ) async -> sending Result<Value, Failure> {
    await withCheckedContinuation {
      (continuation: CheckedContinuation<Result<Value, Failure>, Never>) in
      let work = Once(work)
      run { continuation.resume(returning: work.result()) }
    }
  }

  /// Work that is released when it is done, before the caller goes on: it may have a secret.
  ///
  /// Unchecked, because only the thread that does the work uses it.
  private final class Once<Value, Failure: Error>: @unchecked Sendable {
    private var work: (@Sendable () throws(Failure) -> sending Value)?

    init(_ work: @escaping @Sendable () throws(Failure) -> sending Value) { self.work = work }

    func result() -> sending Result<Value, Failure> {
      guard let work = work.take() else { preconditionFailure("work is done once") }
      do throws(Failure) {
        return .success(try work())
      } catch {
        return .failure(error)
      }
    }
  }
}

/// Threads that do one piece of work after the other, and end when they have been idle for a while.
package final class IdleThreads: Sendable {
  /// The threads of all executors.
  package static let shared = IdleThreads(idleTime: .seconds(5))

  private struct State {
    /// Work for which a thread was woken that has not come yet.
    var waiting = FIFO<@Sendable () -> Void>()
    /// The number of threads that wait, apart from those that were woken.
    var idleCount = 0
    /// Work for which no thread was idle, and none could be started.
    var postponed = FIFO<@Sendable () -> Void>()
  }

  private let state = Lock(State())
  private let wake = DispatchSemaphore(value: 0)
  private let idleTime: DispatchTimeInterval
  private let hasRoom: @Sendable () -> Bool

  /// - Parameters:
  ///   - idleTime: How long a thread waits for more work.
  ///   - hasRoom: Returns whether the system has room for a thread, for tests of one that has not.
  package init(
    idleTime: DispatchTimeInterval, hasRoom: @escaping @Sendable () -> Bool = { true }
  ) {
    (self.idleTime, self.hasRoom) = (idleTime, hasRoom)
  }

  /// Runs work on an idle thread, or on a new one.
  ///
  /// While there is neither, because the machine, or the limit of the container, has no room for a
  /// thread, the work waits for the first one that there is. The caller does not: it may be the
  /// thread that is needed.
  package func run(_ work: @escaping @Sendable () -> Void) {
    if giveToIdleThread(work) || startThread(with: work) { return }
    state.withLock { $0.postponed.append(work) }
    startLater()
  }

  /// Tries again to start a thread for work that was postponed.
  private func startLater() {
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(10)) { [self] in
      guard let work = state.withLock({ $0.postponed.popFirst() }) else { return }
      run(work)
    }
  }

  private func giveToIdleThread(_ work: @escaping @Sendable () -> Void) -> Bool {
    let isTaken = state.withLock { state in
      guard state.idleCount > 0 else { return false }
      state.idleCount -= 1
      state.waiting.append(work)
      return true
    }
    if isTaken { wake.signal() }
    return isTaken
  }

  /// Waits for work; returns `nil` when the thread should end.
  private func nextWork() -> (@Sendable () -> Void)? {
    let postponed = state.withLock { state in
      let work = state.postponed.popFirst()
      if work == nil { state.idleCount += 1 }
      return work
    }
    if let postponed { return postponed }
    while true {
      let isTimedOut = wake.wait(timeout: .now() + idleTime) == .timedOut
      let work = state.withLock { state in
        // A thread that was not woken may take the work of one that was: that one finds none.
        let work = state.waiting.popFirst()
        if work == nil, isTimedOut { state.idleCount -= 1 }
        return work
      }
      if work != nil || isTimedOut { return work }
    }
  }

  private func startThread(with work: @escaping @Sendable () -> Void) -> Bool {
    guard hasRoom() else { return false }
    let start = unsafe Unmanaged.passRetained(Start(self, work))
    // Detached from its start: glibc's `pthread_detach` may read what the end of the thread has
    // freed (https://sourceware.org/bugzilla/show_bug.cgi?id=19951).
    var attributes = pthread_attr_t()
    unsafe pthread_attr_init(&attributes)
    defer { unsafe _ = pthread_attr_destroy(&attributes) }
    unsafe pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    let error = withoutSignals {
      var thread = pthread_t()
      return unsafe pthread_create(
        &thread, &attributes,
        { start in
          guard let start = unsafe start else { return nil }
          unsafe Unmanaged<Start>.fromOpaque(start).takeRetainedValue().run()
          return nil
        }, start.toOpaque())
    }
    if error != 0 { unsafe start.release() }
    return error == 0
  }

  private final class Start: Sendable {
    private let threads: IdleThreads
    private let work: Mutex<(@Sendable () -> Void)?>

    init(_ threads: IdleThreads, _ work: @escaping @Sendable () -> Void) {
      self.threads = threads
      self.work = Mutex(work)
    }

    func run() {
      unsafe session_tools_name_thread("session-tools")
      // Released before the thread waits: what it captures may be a store.
      work.withLock { $0.take() }?()
      while let work = threads.nextWork() { work() }
    }
  }
}

/// Calls a closure that starts a thread, which will get no signal: signals are for the program's
/// threads, and one that waits for a signal must not miss it.
private func withoutSignals<Result>(_ start: () -> Result) -> Result {
  var all = sigset_t()
  var before = sigset_t()
  unsafe sigfillset(&all)
  unsafe pthread_sigmask(SIG_SETMASK, &all, &before)
  defer { unsafe _ = pthread_sigmask(SIG_SETMASK, &before, nil) }
  return start()
}
