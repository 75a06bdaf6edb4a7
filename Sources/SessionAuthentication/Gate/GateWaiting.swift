import SessionToolsBase
import Synchronization

extension AuthenticationGate {
  /// Waits until somebody is authenticated, and has them asked if nobody is being asked already.
  ///
  /// Returns at once where the gate is open. Cancelling the task leaves the question to others.
  ///
  /// - Parameter scene: Who shows the question, if there is a choice.
  /// - Throws: Why nobody was authenticated.
  public func authenticate(in scene: SceneIdentifier? = nil) async throws(AuthenticationError) {
    try await wait(in: nil, timeout: nil, .init(presenter: scene))
    // Since then, before this task was awake.
    if requiresAuthentication { throw .lockedAgain }
  }

  /// Does something when somebody is authenticated, at once if that is so; asks nobody.
  ///
  /// - Parameters:
  ///   - scene: Where it belongs to; it is given up when that goes away.
  ///   - timeout: How long to wait; `nil` for as long as it takes.
  ///   - body: What to do.
  /// - Returns: What it returns.
  /// - Throws: ``AuthenticationError`` when an evaluation fails meanwhile, the scene is not there or
  ///   goes away, time is up (`timedOut`), or the task is cancelled (`appCancel`); what the body throws.
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
    // It may have locked before this task was awake.
    repeat {
      try await wait(in: scene, timeout: end.map { $0 - clock.uptime }, nil)
    } while requiresAuthentication
  }

  /// Has something done when somebody is authenticated, at once if that is so; asks nobody.
  ///
  /// - Parameters:
  ///   - scene: Where it belongs to; it is given up when that goes away.
  ///   - timeout: How long to wait; `nil` for as long as it takes.
  ///   - work: Called exactly once: with success when somebody is authenticated, else with the reason
  ///     why it was given up. Must not block, or wait for the gate: scenes hear of nothing meanwhile.
  /// - Returns: What gives it up.
  @discardableResult
  public func deferUntilAuthenticated(
    in scene: SceneIdentifier? = nil, timeout: Duration? = nil,
    _ work: @escaping @Sendable (Result<Void, AuthenticationError>) -> Void
  ) -> DeferredWork {
    deferred(in: scene, timeout: timeout, nil) { [weak self] result in
      // Since then, before its turn came.
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
            AuthenticationError.timedOut, "nobody was authenticated within \(timeout)"))
      }
    }
    return work
  }
}
