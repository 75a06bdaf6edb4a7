import CSessionToolsLinux
import Foundation
import SessionAuthentication
import SessionToolsBase
import Synchronization

/// One run of PAM in a separate thread, which a task waits for.
///
/// libpam blocks and cannot be interrupted: a module may sleep for seconds after a wrong password,
/// or wait for a finger. So the waiter returns at once when the attempt is over, and the thread
/// ends when its module does, which gets no further answers.
final class PAMAttempt: Sendable {
  typealias Outcome = Result<AuthenticationMethod, AuthenticationError>

  private struct State {
    var outcome: Outcome?
    var waiter: CheckedContinuation<Outcome, Never>?
    /// Withdraws the question that the person is being asked.
    var interrupt: (@Sendable () -> Void)?
  }

  private static let timers = DispatchQueue(label: "session-tools.pam-timers")

  private let state = Mutex(State())

  /// Runs PAM, and waits for the result.
  ///
  /// - Parameters:
  ///   - timeout: How long to wait.
  ///   - body: Runs in the thread.
  /// - Returns: The result; `appCancel` or `timedOut` as soon as the attempt is cancelled or out of
  ///   time.
  static func run(
    timeout: Duration,
    _ body: @escaping @Sendable (PAMAttempt) throws(AuthenticationError) -> AuthenticationMethod
  ) async -> Outcome {
    let attempt = PAMAttempt()
    let timer = DispatchWorkItem {
      attempt.end(
        .failure(
          AuthenticationError(.timedOut, "the person did not answer in time")))
    }
    timers.asyncAfter(deadline: .now() + timeout.dispatchInterval, execute: timer)
    defer { timer.cancel() }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { waiter in
        guard attempt.begin(waiter) else { return }
        Thread {
          unsafe session_tools_name_thread("session-pam")
          attempt.end(Outcome { () throws(AuthenticationError) in try body(attempt) })
        }.start()
      }
    } onCancel: {
      attempt.end(.failure(.cancelledByApp))
    }
  }

  /// Waits, in the thread, for an asynchronous closure.
  ///
  /// - Returns: The closure's result; `nil` when the attempt is over, in which case it is
  ///   cancelled.
  func wait<Value: Sendable>(for body: @escaping @Sendable () async -> Value) -> Value? {
    let exchange = Exchange<Value>()
    let isOver = state.withLock { state in
      guard state.outcome == nil else { return true }
      let task = Task.detached { exchange.finish(with: await body()) }
      state.interrupt = {
        task.cancel()
        exchange.finish(with: nil)
      }
      return false
    }
    guard !isOver else { return nil }
    defer { state.withLock { $0.interrupt = nil } }
    return exchange.wait()
  }

  /// Registers the waiter, or resumes it if the attempt is over.
  ///
  /// - Returns: Whether the attempt is not over yet.
  private func begin(_ waiter: CheckedContinuation<Outcome, Never>) -> Bool {
    let outcome = state.withLock { state in
      if state.outcome == nil { state.waiter = waiter }
      return state.outcome
    }
    if let outcome { waiter.resume(returning: outcome) }
    return outcome == nil
  }

  /// Ends the attempt; later results are ignored.
  private func end(_ outcome: Outcome) {
    let (waiter, interrupt) = state.withLock {
      state -> (CheckedContinuation<Outcome, Never>?, (@Sendable () -> Void)?) in
      guard state.outcome == nil else { return (nil, nil) }
      state.outcome = outcome
      return (state.waiter.take(), state.interrupt.take())
    }
    waiter?.resume(returning: outcome)
    interrupt?()
  }
}

/// A value that a task passes once to a waiting thread.
private final class Exchange<Value: Sendable>: Sendable {
  private let value = Mutex<Value??>(nil)
  private let isFinished = DispatchSemaphore(value: 0)

  func finish(with value: Value?) {
    let isFirst = self.value.withLock { current in
      guard current == nil else { return false }
      current = .some(value)
      return true
    }
    if isFirst { isFinished.signal() }
  }

  func wait() -> Value? {
    isFinished.wait()
    return value.withLock { $0.take() } ?? nil
  }
}
