import Dispatch
import SessionToolsBase
import Synchronization
import WebLogin

/// Waits for an asynchronous operation on the main thread, where no task runs.
///
/// While it waits, the thread runs the jobs given to ``MainThread/perform(_:)``.
///
/// - Throws: `unavailable` if tasks cannot run here, and any error of the operation.
func waiting<Value: Sendable>(
  for operation: @escaping @Sendable () async throws -> Value
) throws -> Value {
  try TaskThreads.check()
  let answer = BlockingAnswer<Value, any Error>()
  Task {
    do {
      answer.give(.success(try await operation()))
    } catch {
      answer.give(.failure(error))
    }
    MainThread.leave()
  }
  MainThread.work()
  return try answer.wait().get()
}

/// The main thread while it waits, as a place for jobs.
///
/// Only this thread can ask a person, because signals are blocked on the threads of tasks and
/// queues.
enum MainThread {
  private static let jobs = Mutex<[(@Sendable () -> Void)?]>([])
  private static let arrivals = DispatchSemaphore(value: 0)

  /// Queues a job, which the main thread runs as soon as it is free.
  static func perform(_ job: @escaping @Sendable () -> Void) { add(job) }

  /// Asks at the terminal on the main thread.
  ///
  /// - Parameters:
  ///   - question: The question.
  ///   - isHidden: Whether what is typed is not shown.
  ///   - wake: What ends the question when the task is cancelled.
  /// - Returns: The line; `nil` if the person gave none, or the task was cancelled.
  static func ask(_ question: String, isHidden: Bool, wake: System.Wake) async -> SecretBytes? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        perform {
          let answer = try? System.askAtTerminal(
            question, isHidden: isHidden, timeout: nil, wake: wake)
          let line: SecretBytes? = if case .line(let line)? = answer { line } else { nil }
          continuation.resume(returning: line)
        }
      }
    } onCancel: {
      wake.signal()
    }
  }

  fileprivate static func leave() { add(nil) }

  fileprivate static func work() {
    while let job = next() { job() }
  }

  private static func add(_ job: (@Sendable () -> Void)?) {
    jobs.withLock { $0.append(job) }
    arrivals.signal()
  }

  private static func next() -> (@Sendable () -> Void)? {
    arrivals.wait()
    return jobs.withLock { $0.removeFirst() }
  }
}

/// Waits for an operation that depends on a person; Ctrl-C cancels it.
///
/// - Throws: Any error of the operation.
func waitingForPerson<Value: Sendable>(
  for operation: @escaping @Sendable () async throws -> Value
) throws -> Value {
  try Interruption.during {
    try waiting {
      let work = Task { try await operation() }
      // A signal handler can do no more than record the signal, so this task polls for it.
      let watch = Task {
        while Interruption.signal == nil { try await Task.sleep(for: .milliseconds(50)) }
        work.cancel()
      }
      defer { watch.cancel() }
      return try await work.value
    }
  }
}
