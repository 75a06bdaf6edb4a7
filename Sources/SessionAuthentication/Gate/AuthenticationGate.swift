public import SessionToolsBase
import Synchronization

/// A gate for all scenes of a program: it decides whether the person may see their content.
///
/// ```swift
/// let gate = AuthenticationGate(authenticator) { AuthenticationRequest(reason: "show your mail") }
/// gate.connect("main", isActive: true) { directive in … }   // shows, hides, offers to try again
/// try await gate.whenAuthenticated { try await loadMail() }
/// ```
///
/// It begins locked. However many scenes and tasks want access, one question is asked at a time, by
/// one scene, and all are notified of its end. Its state is in memory: the authentication ends with
/// the process, unless the program stores a token.
///
/// All methods may be called from any thread, and block no longer than wiping takes. Receivers are
/// called one after the other in the order of the events, on the thread that caused the event or on
/// a thread that was about to call another receiver.
public final class AuthenticationGate: Sendable {
  /// A closure that authenticates a person; the scene may show something for it.
  ///
  /// Its task is cancelled when the evaluation must stop; it should then return soon, because no
  /// other begins before that.
  public typealias Evaluation =
    @Sendable (SceneIdentifier?) async throws -> any AuthenticationToken

  /// The state of a gate.
  public enum State: Sendable {
    /// The content may not be seen.
    case locked
    /// The person is being asked, by this scene.
    case evaluating(SceneIdentifier?)
    /// The content may be seen.
    case unlocked
    /// The person has left, and is not asked again if they come back soon.
    case grace
    /// The gate is locked because the last evaluation failed.
    case failed(AuthenticationError)
  }

  let inside: Mutex<Inside>
  let calls = OrderedCalls()
  let clock: any SessionClock
  let evaluation: Evaluation

  /// Makes a gate, which is locked unless there is a valid token.
  ///
  /// - Parameters:
  ///   - configuration: When the gate locks, and when it asks.
  ///   - token: The token of an earlier evaluation, if the program has stored it.
  ///   - clock: The clock that measures the time.
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

  /// Makes a gate that uses an authenticator.
  ///
  /// - Parameters:
  ///   - authenticator: The authenticator that asks.
  ///   - lifetime: How long an authentication lasts; `nil` until the gate locks.
  ///   - configuration: When the gate locks, and when it asks.
  ///   - clock: The clock that measures the time.
  ///   - request: Makes the request for each evaluation.
  public convenience init(
    _ authenticator: some UserAuthenticator, lifetime: Duration? = nil,
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

  // MARK: - State

  /// The current state of the gate.
  public var state: State {
    // The clock is always read under the lock: an older reading could precede a token's issue.
    inside.withLock { $0.machine.state(at: clock.instant) }
  }

  /// Whether the person must be authenticated before the content may be seen.
  public var requiresAuthentication: Bool {
    inside.withLock { !$0.machine.isOpen(at: clock.instant) }
  }

  /// Whether the person is being asked.
  public var isAuthenticating: Bool {
    if case .evaluating = state { true } else { false }
  }

  /// The state of the gate, now and after each change; a slow reader gets the newest.
  ///
  /// Each use gives a separate stream, which ends when its task is cancelled, or with the gate.
  public var states: AsyncStream<State> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: State.self, bufferingPolicy: .bufferingNewest(1))
    inside.withLock { inside in
      inside.nextNumber += 1
      inside.listeners[inside.nextNumber] = continuation
      continuation.yield(inside.machine.state(at: clock.instant))
    }
    return stream
  }

  /// When the gate locks, and when it asks; may be changed at any time.
  ///
  /// Disabling the gate opens it at once: allow changes only after authentication.
  public var configuration: GateConfiguration {
    get { inside.withLock { $0.machine.configuration } }
    set { perform(.configure(newValue)) }
  }

  // MARK: - Scenes

  /// Adds a scene, which receives its first directive at once.
  ///
  /// - Parameters:
  ///   - scene: Its name; it replaces an earlier scene of this name.
  ///   - isActive: Whether it has the focus, so that the person may be asked.
  ///   - shield: The cover of its content; it receives all events and directives of the scene.
  ///   - receive: Called with what the scene must show. It must not wait for the gate; it may call
  ///     it.
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
    // Released without the lock: what they hold may call the gate when it ends.
    withExtendedLifetime(replaced) {}
    if !isActive { shield?.handle(.willResignActive) }
    perform(.connect(scene, isActive: isActive)) {
      shield?.handle(isActive ? .didBecomeActive : .willResignActive)
    }
  }

  /// Adds a scene whose directives are read from a stream, which ends when the scene is removed.
  public func connect(
    _ scene: SceneIdentifier, isActive: Bool = false, shield: PrivacyShield? = nil
  ) -> AsyncStream<SceneDirective> {
    let (stream, continuation) = AsyncStream.makeStream(of: SceneDirective.self)
    // Released, which ends the stream, when the scene is disconnected or replaced.
    let end = StreamEnd(continuation)
    connect(scene, isActive: isActive, shield: shield) { end.continuation.yield($0) }
    return stream
  }

  /// Removes a scene that no longer exists.
  ///
  /// Calls that wait in the scene, and the question that it shows, end with `appCancel`.
  public func disconnect(_ scene: SceneIdentifier) {
    perform(.disconnect(scene))
  }

  /// Handles an event of a scene.
  ///
  /// When this returns after a loss of focus, the content is obscured, unless another thread is
  /// calling the closure that reveals it, and obscures it then.
  public func handle(_ event: SceneEvent, in scene: SceneIdentifier) {
    let shield = inside.withLock { $0.shields[scene] }
    // An event that takes the focus or hides the scene obscures it at once. The shield also
    // receives each event in its turn, perhaps on another thread: so nothing is revealed before the
    // shield knows whether the content may be seen, and nothing stays revealed that lost the focus
    // meanwhile.
    if event != .didBecomeActive { shield?.handle(event) }
    perform(.scene(event, scene)) { shield?.handle(event) }
  }

  // MARK: - The system

  /// Handles an event of the desktop or the machine.
  ///
  /// When this returns after an event that locks, the resources are wiped.
  public func handle(_ event: SystemEvent) {
    perform(.system(event))
  }

  /// Handles the events of a source until the task is cancelled.
  ///
  /// - Throws: The errors of ``LifecycleSource/run(_:)``.
  public func follow(_ source: some LifecycleSource) async throws(AuthenticationError) {
    try await source.run { [weak self] in self?.handle($0) }
  }

  /// Locks now and cancels a question under way; the person is asked again only on request, or
  /// after they have been away.
  public func invalidate() {
    perform(.invalidate)
  }

  /// Keeps a resource in memory only while the gate is open.
  ///
  /// If the gate is locked, the resource is wiped at once; if it is open, the resource is left as
  /// it is. Attach all resources before the first authentication.
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

/// An object that ends a stream when it is released.
private final class StreamEnd: Sendable {
  let continuation: AsyncStream<SceneDirective>.Continuation

  init(_ continuation: AsyncStream<SceneDirective>.Continuation) {
    self.continuation = continuation
  }

  deinit {
    continuation.finish()
  }
}
