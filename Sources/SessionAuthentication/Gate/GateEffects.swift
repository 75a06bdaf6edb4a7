import SessionToolsBase
import Synchronization

extension AuthenticationGate {
  typealias Completion = @Sendable (Result<Void, AuthenticationError>) -> Void

  struct Waiting {
    let completion: Completion
    var timer: Task<Void, Never>?
  }

  /// The state that the gate's lock guards.
  struct Inside {
    var machine: GateMachine
    var waiting: [Int: Waiting] = [:]
    var receivers: [SceneIdentifier: @Sendable (SceneDirective) -> Void] = [:]
    var shields: [SceneIdentifier: PrivacyShield] = [:]
    var listeners: [Int: AsyncStream<State>.Continuation] = [:]
    var reported = State.locked
    var nextNumber = 0
    var evaluating: (number: Int, task: Task<Void, Never>)?
    var timer: (deadline: Duration, task: Task<Void, Never>)?
    var resources: [GatedResource] = []
    /// The number of threads that are wiping resources.
    var wipingCount = 0
    /// The evaluation that waits until no thread is wiping.
    var afterWiping: CheckedContinuation<Void, Never>?
  }

  /// Handles an event and performs its effects.
  ///
  /// - Parameters:
  ///   - event: The event.
  ///   - call: Called after all effects.
  func perform(_ event: GateMachine.Event, then call: (@Sendable () -> Void)? = nil) {
    let (wiped, removed) = inside.withLock { inside in
      let now = clock.instant
      var wiped: [GatedResource] = []
      var removed: (PrivacyShield?, (@Sendable (SceneDirective) -> Void)?)
      for effect in inside.machine.handle(event, at: now) {
        if case .wipe = effect { wiped = inside.resources } else { arrange(effect, &inside) }
      }
      if case .disconnect(let scene) = event {
        removed = (
          inside.shields.removeValue(forKey: scene), inside.receivers.removeValue(forKey: scene)
        )
      }
      if let call { calls.add(call) }
      if !wiped.isEmpty { inside.wipingCount += 1 }
      reportState(&inside, now)
      setTimer(&inside, now)
      return (wiped, removed)
    }
    // Released without the lock: what they hold may call the gate when it ends.
    defer { withExtendedLifetime(removed) {} }
    // Wipe before receivers are called and before this returns: the machine may sleep after that.
    if !wiped.isEmpty { wipe(wiped) }
    calls.run()
  }

  /// Wipes resources whose wiping has been counted in `wipingCount`.
  func wipe(_ resources: [GatedResource]) {
    for resource in resources { resource.lock() }
    inside.withLock { inside in
      inside.wipingCount -= 1
      return inside.wipingCount == 0 ? inside.afterWiping.take() : nil
    }?.resume()
  }

  private func waitForWiping() async {
    await withCheckedContinuation { waiter in
      let isWiping = inside.withLock { inside in
        // There is one evaluation at a time.
        if inside.wipingCount > 0 { inside.afterWiping = waiter }
        return inside.wipingCount > 0
      }
      if !isWiping { waiter.resume() }
    }
  }

  private func arrange(_ effect: GateMachine.Effect, _ inside: inout Inside) {
    switch effect {
    case .notify(let scene, let directive):
      if let receive = inside.receivers[scene] { calls.add { receive(directive) } }
    case .run(let number): answer(number, .success(()), &inside)
    case .refuse(let number, let error): answer(number, .failure(error), &inside)
    case .evaluate(let number, let presenter):
      calls.add { [self] in evaluate(number, presenter) }
    case .cancelEvaluation(let number):
      calls.add { [self] in
        self.inside.withLock { $0.evaluating }.map { if $0.number == number { $0.task.cancel() } }
      }
    case .wipe: break
    }
  }

  private func answer(
    _ number: Int, _ result: Result<Void, AuthenticationError>, _ inside: inout Inside
  ) {
    guard let waiting = inside.waiting.removeValue(forKey: number) else { return }
    waiting.timer?.cancel()
    calls.add { waiting.completion(result) }
  }

  private func evaluate(_ number: Int, _ presenter: SceneIdentifier?) {
    let task = Task { [weak self, evaluation] in
      let result: Result<any AuthenticationToken, AuthenticationError>
      // A late wipe for an earlier lock could wipe what this evaluation opens.
      await self?.waitForWiping()
      do {
        let token = try await evaluation(presenter)
        try Task.checkCancellation()
        try await self?.unlockResources()
        result = .success(token)
      } catch {
        result = .failure(AuthenticationError(of: error))
      }
      self?.perform(.evaluationEnded(number, result))
    }
    inside.withLock { $0.evaluating = (number, task) }
  }

  private func unlockResources() async throws(AuthenticationError) {
    var unlockedCount = 0
    // Other resources may be attached meanwhile.
    while let resource = inside.withLock({ $0.resources.dropFirst(unlockedCount).first }) {
      do {
        try await resource.unlock()
        unlockedCount += 1
      } catch {
        // A store's error contains no secret; other errors may.
        let reason = (error as? StoreError).map { ": \($0.reason)" } ?? ""
        throw AuthenticationError(
          .unlockFailed, "a resource of the gate could not be opened\(reason)",
          underlying: error)
      }
    }
  }

  private func reportState(_ inside: inout Inside, _ now: BootInstant) {
    let state = inside.machine.state(at: now)
    if state.reportsTheSame(as: inside.reported) { return }
    inside.reported = state
    // A listener that has stopped is found here: a closure that it calls when it stops would wait
    // for the gate's lock, while this waits for the lock of its task.
    for (number, listener) in inside.listeners {
      if case .terminated = listener.yield(state) { inside.listeners[number] = nil }
    }
  }

  private func setTimer(_ inside: inout Inside, _ now: BootInstant) {
    let deadline = inside.machine.nextDeadline
    if let deadline, inside.timer?.deadline == deadline, deadline > now.uptime { return }
    inside.timer?.task.cancel()
    inside.timer = deadline.map { deadline in
      let task = clock.after(deadline - now.uptime) { [weak self] in self?.perform(.tick) }
      return (deadline, task)
    }
  }
}

extension AuthenticationGate.State {
  fileprivate func reportsTheSame(as other: Self) -> Bool {
    switch (self, other) {
    case (.locked, .locked), (.unlocked, .unlocked), (.grace, .grace): true
    case (.evaluating(let presenter), .evaluating(let other)): presenter == other
    case (.failed(let error), .failed(let other)):
      error.code == other.code && error.reason == other.reason
    default: false
    }
  }
}
