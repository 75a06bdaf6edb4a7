public import SessionToolsBase
import Synchronization

/// One gate for all scenes of a program: whether the person in front may see what is behind it.
///
/// ```swift
/// let gate = AuthenticationGate(authenticator) { AuthenticationRequest(reason: "show your mail") }
/// gate.connect("main", isActive: true) { directive in … }   // shows, hides, offers to try again
/// try await gate.whenAuthenticated { try await loadMail() }
/// ```
///
/// It begins locked. However many scenes and tasks want in, one question is asked at a time, by one
/// scene, and all hear of its end. What it knows is in memory: with the process the authentication
/// ends, unless the program keeps a token.
///
/// All methods may be called from any thread, and none blocks for longer than wiping takes. Receivers
/// are called one after the other in the order of what happened, on the thread that made it happen or
/// one that was about to call another.
public final class AuthenticationGate: Sendable {
  /// Authenticates a person; the scene is the one that may show something.
  ///
  /// Its task is cancelled when it is not to go on, and it should then return soon: no other is
  /// begun before that.
  public typealias Evaluation =
    @Sendable (SceneIdentifier?) async throws -> any AuthenticationToken

  /// What a gate is doing.
  public enum State: Sendable {
    /// Nobody may see the content.
    case locked
    /// Somebody is being asked, by this scene.
    case evaluating(SceneIdentifier?)
    /// The content may be seen.
    case unlocked
    /// The person has left, and is not asked again when they come back soon.
    case grace
    /// Locked, because the last evaluation failed.
    case failed(AuthenticationError)
  }

  private typealias Completion = @Sendable (Result<Void, AuthenticationError>) -> Void

  private struct Waiting {
    let completion: Completion
    var timer: Task<Void, Never>?
  }

  private struct Inside {
    var machine: GateMachine
    var waiting: [Int: Waiting] = [:]
    var receivers: [SceneIdentifier: @Sendable (SceneDirective) -> Void] = [:]
    var shields: [SceneIdentifier: PrivacyShield] = [:]
    var listeners: [Int: AsyncStream<State>.Continuation] = [:]
    var told = State.locked
    var nextNumber = 0
    var evaluating: (number: Int, task: Task<Void, Never>)?
    var timer: (deadline: Duration, task: Task<Void, Never>)?
    var resources: [GatedResource] = []
  }

  private let inside: Mutex<Inside>
  private let calls = OrderedCalls()
  private let clock: any SessionClock
  private let evaluation: Evaluation

  /// Makes a gate, which is locked unless there is a token that counts.
  ///
  /// - Parameters:
  ///   - configuration: When it locks, and when it asks.
  ///   - token: What an earlier evaluation gave, if the program has kept it.
  ///   - clock: What tells the time.
  ///   - evaluation: Authenticates a person.
  public init(
    configuration: GateConfiguration = GateConfiguration(),
    token: (any AuthenticationToken)? = nil, clock: some SessionClock = SystemSessionClock(),
    evaluation: @escaping Evaluation
  ) {
    self.clock = clock
    self.evaluation = evaluation
    let machine = GateMachine(configuration, token: token, at: clock.instant)
    inside = Mutex(Inside(machine: machine))
    perform(.tick)
  }

  /// Makes a gate that asks by an authenticator.
  ///
  /// - Parameters:
  ///   - authenticator: Who asks.
  ///   - lifetime: How long an authentication lasts; `nil` until the gate locks.
  ///   - configuration: When it locks, and when it asks.
  ///   - clock: What tells the time.
  ///   - request: What is asked, made anew each time.
  public convenience init(
    _ authenticator: some Authenticator, lifetime: Duration? = nil,
    configuration: GateConfiguration = GateConfiguration(),
    clock: some SessionClock = SystemSessionClock(),
    request: @escaping @Sendable () -> AuthenticationRequest
  ) {
    self.init(configuration: configuration, clock: clock) { _ in
      _ = try await authenticator.evaluate(request())
      return lifetime.map { ExpiringToken(lifetime: $0, clock: clock) }
        ?? PermanentToken(clock: clock)
    }
  }

  deinit {
    let inside = inside.withLock { $0 }
    if inside.machine.configuration.isEnabled {
      for resource in inside.resources { resource.lock() }
    }
    inside.timer?.task.cancel()
    inside.evaluating?.task.cancel()
    for waiting in inside.waiting.values {
      waiting.timer?.cancel()
      waiting.completion(.failure(.cancelledByApp))
    }
    for listener in inside.listeners.values { listener.finish() }
  }

  // MARK: - What is so

  /// What the gate is doing now.
  public var state: State {
    // The clock is read under the lock everywhere: an older reading would be before a token was issued.
    inside.withLock { $0.machine.state(at: clock.instant) }
  }

  /// Whether the content may not be seen before somebody is authenticated.
  public var requiresAuthentication: Bool {
    inside.withLock { !$0.machine.isOpen(at: clock.instant) }
  }

  /// Whether somebody is being asked.
  public var isAuthenticating: Bool {
    if case .evaluating = state { true } else { false }
  }

  /// What the gate is doing, now and after each change; one who falls behind gets the newest.
  ///
  /// Each call gives a stream of its own, which ends when its task is cancelled, or with the gate.
  public var states: AsyncStream<State> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: State.self, bufferingPolicy: .bufferingNewest(1))
    let number = inside.withLock { inside in
      inside.nextNumber += 1
      inside.listeners[inside.nextNumber] = continuation
      continuation.yield(inside.machine.state(at: clock.instant))
      return inside.nextNumber
    }
    continuation.onTermination = { [weak self] _ in
      self?.inside.withLock { $0.listeners[number] = nil }
    }
    return stream
  }

  /// When the gate locks, and when it asks; to be changed any time.
  ///
  /// A gate that is disabled is open at once: let only those change it whom it lets in.
  public var configuration: GateConfiguration {
    get { inside.withLock { $0.machine.configuration } }
    set { perform(.configure(newValue)) }
  }

  // MARK: - Scenes

  /// Adds a scene, which is told at once how things are.
  ///
  /// - Parameters:
  ///   - scene: Its name; a scene of this name that was there before is replaced.
  ///   - isActive: Whether it has the focus; then somebody may be asked.
  ///   - shield: What is over its content; it learns of all events and directives of the scene.
  ///   - receive: Called with what the scene is to show. Must not wait for the gate; may call it.
  public func connect(
    _ scene: SceneIdentifier, isActive: Bool = false, shield: PrivacyShield? = nil,
    receive: @escaping @Sendable (SceneDirective) -> Void
  ) {
    let replaced = inside.withLock { inside in
      let replaced = (inside.shields[scene], inside.receivers[scene])
      inside.shields[scene] = shield
      inside.receivers[scene] = { directive in
        shield?.handle(directive)
        receive(directive)
      }
      return replaced
    }
    // Let go of without the lock: what they hold may call the gate when it ends.
    withExtendedLifetime(replaced) {}
    if !isActive { shield?.handle(.willResignActive) }
    perform(.connect(scene, isActive: isActive))
    if isActive { shield?.handle(.didBecomeActive) }
  }

  /// Adds a scene, whose directives are to be read from a stream; it ends when the scene is
  /// disconnected.
  public func connect(
    _ scene: SceneIdentifier, isActive: Bool = false, shield: PrivacyShield? = nil
  ) -> AsyncStream<SceneDirective> {
    let (stream, continuation) = AsyncStream.makeStream(of: SceneDirective.self)
    // Let go of, and with it ended, when the scene is disconnected or replaced.
    let end = StreamEnd(continuation)
    connect(scene, isActive: isActive, shield: shield) { end.continuation.yield($0) }
    return stream
  }

  /// Removes a scene that is gone.
  ///
  /// What waits in it, and the question that it shows, end with `appCancel`.
  public func disconnect(_ scene: SceneIdentifier) {
    perform(.disconnect(scene))
  }

  /// Tells what happens to a scene.
  ///
  /// When this returns after it lost the focus, its content is obscured.
  public func handle(_ event: SceneEvent, in scene: SceneIdentifier) {
    let shield = inside.withLock { $0.shields[scene] }
    // Nothing is revealed before it is known whether it may be seen.
    if event != .didBecomeActive { shield?.handle(event) }
    perform(.scene(event, scene))
    if event == .didBecomeActive { shield?.handle(event) }
  }

  // MARK: - The system

  /// Tells what happens to the desktop or the machine.
  ///
  /// When this returns after an event that locks, the resources are wiped.
  public func handle(_ event: SystemEvent) {
    perform(.system(event))
  }

  /// Listens to a source until the task is cancelled.
  ///
  /// - Throws: As ``LifecycleSource/run(_:)``.
  public func follow(_ source: some LifecycleSource) async throws(AuthenticationError) {
    try await source.run { [weak self] in self?.handle($0) }
  }

  /// Locks now, takes a question back that is being asked, and asks nobody who has not been away or
  /// wants to.
  public func invalidate() {
    perform(.invalidate)
  }

  /// Has something in memory only while the gate is open.
  ///
  /// If the gate is locked it is wiped at once; if it is open it is left as it is. Attach what there is
  /// before anyone is authenticated.
  public func attach(_ resource: GatedResource) {
    let isOpen = inside.withLock { inside in
      inside.resources.append(resource)
      return inside.machine.isOpen(at: clock.instant)
    }
    if !isOpen { resource.lock() }
  }

  // MARK: - Authenticating

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

  // MARK: - Doing

  private func perform(_ event: GateMachine.Event) {
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
      tellState(&inside, now)
      setTimer(&inside, now)
      return (wiped, removed)
    }
    // Let go of without the lock: what they hold may call the gate when it ends.
    defer { withExtendedLifetime(removed) {} }
    // Before anyone is told, and before whoever made it lock goes on: the machine may sleep then.
    for resource in wiped { resource.lock() }
    calls.run()
  }

  private func arrange(_ effect: GateMachine.Effect, _ inside: inout Inside) {
    switch effect {
    case .tell(let scene, let directive):
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
    // Others may be attached meanwhile.
    while let resource = inside.withLock({ $0.resources.dropFirst(unlockedCount).first }) {
      do {
        try await resource.unlock()
        unlockedCount += 1
      } catch {
        // A store's error names no secret; others may.
        let reason = (error as? StoreError).map { ": \($0.reason)" } ?? ""
        throw AuthenticationError(
          AuthenticationError.unlockFailed, "what the gate guards could not be opened\(reason)",
          underlying: error)
      }
    }
  }

  private func tellState(_ inside: inout Inside, _ now: BootInstant) {
    let state = inside.machine.state(at: now)
    if state.tellsTheSame(as: inside.told) { return }
    inside.told = state
    for listener in inside.listeners.values { listener.yield(state) }
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

/// Ends a stream when it is let go.
private final class StreamEnd: Sendable {
  let continuation: AsyncStream<SceneDirective>.Continuation

  init(_ continuation: AsyncStream<SceneDirective>.Continuation) {
    self.continuation = continuation
  }

  deinit {
    continuation.finish()
  }
}

extension AuthenticationGate.State {
  fileprivate func tellsTheSame(as other: Self) -> Bool {
    switch (self, other) {
    case (.locked, .locked), (.unlocked, .unlocked), (.grace, .grace): true
    case (.evaluating(let presenter), .evaluating(let other)): presenter == other
    default: false
    }
  }
}

extension AuthenticationError {
  fileprivate static var lockedAgain: AuthenticationError {
    AuthenticationError(systemCancel, "the gate was locked again at once", remedy: "Try again")
  }

  /// What an evaluation threw.
  fileprivate init(of error: any Error) {
    switch error {
    case let error as AuthenticationError: self = error
    case is CancellationError: self = .cancelledByApp
    default:
      self.init(
        Self.failed, "the authentication did not work", underlying: error)
    }
  }
}
