import SessionToolsBase
import Synchronization

extension AuthenticationGate {
  /// Waits until the person is authenticated, and asks them if no question is under way.
  ///
  /// Returns at once if the gate is open. Cancelling the task does not cancel the question.
  ///
  /// - Parameter scene: The scene that shows the question, if there is a choice.
  /// - Throws: The evaluation's error; `timedOut` after ``GateConfiguration/evaluationTimeout``;
  ///   `appCancel` when the task was cancelled or the gate was invalidated; `systemCancel` when
  ///   the gate locked again; `busy` when ``GateConfiguration/maximumDeferredCount`` calls wait
  ///   already.
  public func authenticate(in scene: SceneIdentifier? = nil) async throws(AuthenticationError) {
    try await wait(in: nil, timeout: nil, .init(presenter: scene))
    // The gate may have locked again before this task resumed.
    if requiresAuthentication { throw .lockedAgain }
  }

  /// Runs a closure when the person is authenticated, or at once if the gate is open; does not ask.
  ///
  /// - Parameters:
  ///   - scene: The scene that the call belongs to; the call ends when the scene is removed.
  ///   - timeout: How long to wait; `nil` for no limit.
  ///   - body: The closure.
  /// - Returns: The closure's result.
  /// - Throws: ``AuthenticationError`` when an evaluation fails meanwhile, the scene does not exist
  ///   or is removed, time is up (`timedOut`), or the task is cancelled (`appCancel`); the
  ///   closure's errors.
  public func whenAuthenticated<Value>(
    in scene: SceneIdentifier? = nil, timeout: Duration? = nil, _ body: () async throws -> Value
  ) async throws -> Value {
    try await waitUntilAuthenticated(in: scene, timeout: timeout)
    return try await body()
  }

  func waitUntilAuthenticated(
    in scene: SceneIdentifier? = nil, timeout: Duration?
  ) async throws(AuthenticationError) {
    let end = timeout.map { clock.uptime + $0 }
    // The gate may have locked before this task resumed.
    repeat {
      try await wait(in: scene, timeout: end.map { $0 - clock.uptime }, nil)
    } while requiresAuthentication
  }

  /// Calls a closure when the person is authenticated, or at once if the gate is open; does not
  /// ask.
  ///
  /// - Parameters:
  ///   - scene: The scene that the call belongs to; the call ends when the scene is removed.
  ///   - timeout: How long to wait; `nil` for no limit.
  ///   - work: Called exactly once: with success when the person is authenticated, otherwise with
  ///     the reason why not. It must not block or wait for the gate, because scenes receive nothing
  ///     meanwhile.
  /// - Returns: An object that cancels the call.
  @discardableResult
  public func deferUntilAuthenticated(
    in scene: SceneIdentifier? = nil, timeout: Duration? = nil,
    _ work: @escaping @Sendable (Result<Void, AuthenticationError>) -> Void
  ) -> DeferredWork {
    deferred(in: scene, timeout: timeout, nil) { [weak self] result in
      // The gate may have locked again before this callback ran.
      if case .success = result, self?.requiresAuthentication == true {
        work(.failure(.lockedAgain))
      } else {
        work(result)
      }
    }
  }

  private func wait(
    in scene: SceneIdentifier?, timeout: Duration?, _ request: GateMachine.Request?
  ) async throws(AuthenticationError) {
    let work = Mutex<DeferredWork?>(nil)
    let result: Result<Void, AuthenticationError> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let deferred = deferred(in: scene, timeout: timeout, request) {
          continuation.resume(returning: $0)
        }
        work.withLock { $0 = deferred }
        if Task.isCancelled { deferred.cancel() }
      }
    } onCancel: {
      work.withLock { $0 }?.cancel()
    }
    try result.get()
  }

  private func deferred(
    in scene: SceneIdentifier?, timeout: Duration?, _ request: GateMachine.Request?,
    _ completion: @escaping Completion
  ) -> DeferredWork {
    let number = inside.withLock { inside in
      inside.nextNumber += 1
      inside.waiting[inside.nextNumber] = Waiting(completion: completion)
      return inside.nextNumber
    }
    perform(.wait(number, in: scene, request))
    let work = DeferredWork { [weak self] in self?.perform(.stopWaiting(number, $0)) }
    guard let timeout else { return work }
    inside.withLock { inside in
      guard inside.waiting[number] != nil else { return }
      inside.waiting[number]?.timer = clock.after(timeout) {
        work.stop(
          AuthenticationError(
            .timedOut, "the person was not authenticated within \(timeout)"))
      }
    }
    return work
  }
}

/// A call that waits for authentication, and can be cancelled.
public struct DeferredWork: Sendable {
  let stop: @Sendable (AuthenticationError) -> Void

  init(_ stop: @escaping @Sendable (AuthenticationError) -> Void) {
    self.stop = stop
  }

  /// Cancels the call with `appCancel`, unless it has been answered already.
  public func cancel() {
    stop(.cancelledByApp)
  }
}
