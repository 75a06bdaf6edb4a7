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

  let inside: Mutex<Inside>
  let calls = OrderedCalls()
  let clock: any SessionClock
  let evaluation: Evaluation

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
    perform(.connect(scene, isActive: isActive)) {
      shield?.handle(isActive ? .didBecomeActive : .willResignActive)
    }
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
  /// When this returns after it lost the focus, its content is obscured, unless another thread is
  /// calling what reveals it, and obscures it then.
  public func handle(_ event: SceneEvent, in scene: SceneIdentifier) {
    let shield = inside.withLock { $0.shields[scene] }
    // What is lost is obscured at once. In its turn, which another thread may be at, the shield hears of
    // each event: so nothing is revealed before it has been told whether it may be seen, and nothing
    // stays revealed that lost the focus meanwhile.
    if event != .didBecomeActive { shield?.handle(event) }
    perform(.scene(event, scene)) { shield?.handle(event) }
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
      let isOpen = inside.machine.isOpen(at: clock.instant)
      if !isOpen { inside.wipingCount += 1 }
      return isOpen
    }
    if !isOpen { wipe([resource]) }
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
