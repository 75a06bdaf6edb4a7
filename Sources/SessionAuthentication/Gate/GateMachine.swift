import SessionToolsBase

/// The rules of the gate as a state machine: events go in, effects come out.
///
/// It is a value without threads and clocks, so that it can be tested with millions of sequences.
package struct GateMachine {
  private enum Lock {
    case locked
    case unlocked(any AuthenticationToken)
    /// Open if the person comes back in time.
    case grace(any AuthenticationToken, until: Duration)

    var token: (any AuthenticationToken)? {
      switch self {
      case .locked: nil
      case .unlocked(let token), .grace(let token, _): token
      }
    }
  }

  private struct Evaluation {
    let number: Int
    let presenter: SceneIdentifier?
    let deadline: Duration
    /// Its result no longer matters, but the next evaluation waits for its end: there is one at a
    /// time, however long authenticators take.
    var isAbandoned = false
  }

  package private(set) var configuration: GateConfiguration
  private var scenes = SceneBook()
  private var lock: Lock
  private var evaluation: Evaluation?
  private var evaluationCount = 0
  /// The request to begin when the abandoned evaluation has ended.
  private var next: Request?
  private var waiting: [Int: SceneIdentifier?] = [:]
  private var failure: AuthenticationError?
  /// When the person in front was last refused or cancelled.
  ///
  /// Until the person has really been away, they are asked only on request. Otherwise dismissing a
  /// question, which gives the focus back, would ask again at once.
  private var dismissal: Duration?
  private var isSessionLocked = false
  private var isAsleep = false
  private var effects: [Effect] = []
  private var now: BootInstant

  package init(
    _ configuration: GateConfiguration, token: (any AuthenticationToken)?, at now: BootInstant
  ) {
    self.configuration = configuration
    self.now = now
    lock = token.map { $0.isValid(at: now) ? .unlocked($0) : .locked } ?? .locked
  }

  // MARK: - State

  /// Returns whether the content may be seen.
  package func isOpen(at now: BootInstant) -> Bool {
    guard configuration.isEnabled else { return true }
    if case .grace(_, let end) = lock, now.uptime >= end { return false }
    return lock.token?.isValid(at: now) ?? false
  }

  package func state(at now: BootInstant) -> AuthenticationGate.State {
    if isOpen(at: now) {
      if case .grace = lock, configuration.isEnabled { return .grace }
      return .unlocked
    }
    if let evaluation, !evaluation.isAbandoned { return .evaluating(evaluation.presenter) }
    return failure.map { .failed($0) } ?? .locked
  }

  /// The uptime at which the state changes without an event.
  package var nextDeadline: Duration? {
    var moments: [Duration] = []
    if let evaluation, !evaluation.isAbandoned { moments.append(evaluation.deadline) }
    if case .grace(_, let end) = lock { moments.append(end) }
    if let end = lock.token?.expiration, end.bootIdentifier == now.bootIdentifier {
      moments.append(end.uptime)
    }
    return moments.min()
  }

  // MARK: - Events

  /// Handles an event.
  ///
  /// - Returns: The effects to perform, in this order.
  package mutating func handle(_ event: Event, at now: BootInstant) -> [Effect] {
    self.now = now
    effects = []
    expire()
    switch event {
    case .connect(let scene, let isActive): connect(scene, isActive: isActive)
    case .disconnect(let scene): disconnect(scene)
    case .scene(let event, let scene): handle(event, in: scene)
    case .system(let event): handle(event)
    case .wait(let number, let scene, let request): wait(number, in: scene, request)
    case .stopWaiting(let number, let error):
      if waiting.removeValue(forKey: number) != nil { effects.append(.refuse(number, error)) }
    case .evaluationEnded(let number, let result): evaluationEnded(number, result)
    case .invalidate:
      close(.cancelledByApp)
      dismissal = now.uptime
    case .configure(let configuration): configure(configuration)
    case .tick: break
    }
    return effects
  }

  private mutating func expire() {
    if let evaluation, !evaluation.isAbandoned, now.uptime >= evaluation.deadline {
      abandon(
        AuthenticationError(
          .timedOut,
          "the person was not authenticated within \(configuration.evaluationTimeout)"))
    }
    switch lock {
    case .locked: break
    case .grace(_, let end) where now.uptime >= end: close(nil)
    case .grace(let token, _), .unlocked(let token): if !token.isValid(at: now) { close(nil) }
    }
  }

  // MARK: - Scenes

  private mutating func connect(_ scene: SceneIdentifier, isActive: Bool) {
    let replacesFront = scenes.contains(scene) && !isNobodyInFront
    scenes.insert(scene)
    if isOpen(at: now) {
      notify(scene, .authenticated)
    } else if let evaluation, !evaluation.isAbandoned {
      notify(scene, .authenticating(isPresenter: evaluation.presenter == scene))
    } else {
      notify(scene, failure.map { .failed($0) } ?? .locked)
    }
    guard isActive, scenes.handle(.didBecomeActive, in: scene) else {
      // A recreated window gets the focus in a moment, and a hidden one does not.
      if replacesFront {
        lockIfNobodyIsInFront(max(graceDuration, configuration.focusReturnDuration))
      }
      return
    }
    cameBack()
    requestUnasked(in: scene)
  }

  private mutating func disconnect(_ scene: SceneIdentifier) {
    guard scenes.remove(scene) else { return }
    for number in waiting.filter({ $0.value == scene }).keys.sorted() {
      waiting[number] = nil
      effects.append(.refuse(number, .sceneLost))
    }
    if let evaluation, evaluation.presenter == scene, !evaluation.isAbandoned {
      return abandon(.sceneLost)
    }
    lockIfNobodyIsInFront(graceDuration)
  }

  private mutating func handle(_ event: SceneEvent, in scene: SceneIdentifier) {
    let wasActive = scenes.isActive(scene)
    guard scenes.handle(event, in: scene) else { return }
    switch event {
    case .didBecomeActive:
      // Some desktops report only that they were locked; when a scene that is not new gets the
      // focus back, they must be unlocked.
      if !wasActive { isSessionLocked = false }
      cameBack()
      requestUnasked(in: scene)
    case .willEnterForeground: cameBack()
    case .willResignActive, .didEnterBackground: left()
    }
  }

  /// Opens as before; the token's lifetime is not extended.
  private mutating func cameBack() {
    if case .grace(let token, _) = lock, !isNobodyInFront { lock = .unlocked(token) }
  }

  /// Locks when the person leaves; the focus that our own question takes does not count.
  private mutating func left() {
    guard evaluation == nil else { return }
    if let dismissal, now.uptime >= dismissal + configuration.focusReturnDuration {
      self.dismissal = nil
    }
    lockIfNobodyIsInFront(graceDuration)
  }

  private var graceDuration: Duration {
    let focusReturn =
      configuration.invalidation == .resignActive ? configuration.switchingDuration : .zero
    return max(configuration.graceDuration, focusReturn)
  }

  private mutating func lockIfNobodyIsInFront(_ grace: Duration) {
    guard case .unlocked(let token) = lock, isNobodyInFront else { return }
    if grace > .zero { lock = .grace(token, until: now.uptime + grace) } else { close(nil) }
  }

  private var isNobodyInFront: Bool {
    scenes.isNobodyInFront(by: configuration.invalidation)
  }

  // MARK: - The system

  private mutating func handle(_ event: SystemEvent) {
    switch event {
    case .sessionLocked: isSessionLocked = true
    case .sessionUnlocked: isSessionLocked = false
    case .willSleep: isAsleep = true
    case .didWake: isAsleep = false
    }
    switch event {
    case .sessionLocked where configuration.locksWithSession: close(.takenBackBySystem)
    case .willSleep where configuration.locksBeforeSleep: close(.takenBackBySystem)
    case .sessionLocked, .willSleep: break
    case .sessionUnlocked, .didWake:
      dismissal = nil
      if let scene = scenes.active { requestUnasked(in: scene) }
    }
  }

  // MARK: - Asking

  private mutating func requestUnasked(in scene: SceneIdentifier) {
    guard configuration.requestsAutomatically, dismissal == nil, !isSessionLocked, !isAsleep else {
      return
    }
    request(Request(presenter: scene))
  }

  private mutating func request(_ request: Request) {
    guard !isOpen(at: now) else { return }
    guard let evaluation else { return begin(request) }
    if evaluation.isAbandoned { next = next ?? request }
  }

  private mutating func begin(_ request: Request) {
    evaluationCount += 1
    let presenter = request.presenter ?? scenes.frontmost
    evaluation = Evaluation(
      number: evaluationCount, presenter: presenter,
      deadline: now.uptime + configuration.evaluationTimeout)
    failure = nil
    for scene in scenes.all { notify(scene, .authenticating(isPresenter: scene == presenter)) }
    effects.append(.evaluate(evaluationCount, presenter: presenter))
  }

  private mutating func wait(_ number: Int, in scene: SceneIdentifier?, _ request: Request?) {
    if isOpen(at: now) { return effects.append(.run(number)) }
    let scenesOfIt = [scene, request?.presenter].compactMap { $0 }
    guard scenesOfIt.allSatisfy(scenes.contains) else {
      return effects.append(.refuse(number, .sceneLost))
    }
    guard waiting.count < configuration.maximumDeferredCount else {
      return effects.append(.refuse(number, .tooManyWait))
    }
    waiting[number] = scene
    if let request { self.request(request) }
  }

  // MARK: - Answers

  private mutating func evaluationEnded(
    _ number: Int, _ result: Result<any AuthenticationToken, AuthenticationError>
  ) {
    guard let ended = evaluation, ended.number == number else { return }
    evaluation = nil
    if ended.isAbandoned {
      // Wipe what it may have opened since.
      wipe()
      return beginNext()
    }
    switch result {
    case .success(let token) where token.isValid(at: now): open(token)
    case .success:
      fail(
        AuthenticationError(
          .invalidToken, "the authentication is no longer valid"))
      wipe()
    case .failure(let error):
      fail(error)
      wipe()
    }
  }

  private mutating func beginNext() {
    guard let request = next.take(), !isOpen(at: now) else { return }
    guard let presenter = request.presenter, !scenes.contains(presenter) else {
      return begin(request)
    }
    // The presenter is gone, but other calls may wait for the evaluation.
    if !waiting.isEmpty { begin(Request(presenter: nil)) }
  }

  private mutating func open(_ token: any AuthenticationToken) {
    lock = .unlocked(token)
    (failure, dismissal) = (nil, nil)
    for scene in scenes.all { notify(scene, .authenticated) }
    runAll()
    // The focus may still be on its way back, or the person may have left during the question.
    lockIfNobodyIsInFront(max(configuration.graceDuration, configuration.focusReturnDuration))
  }

  private mutating func fail(_ error: AuthenticationError) {
    failure = error
    dismissal = now.uptime
    for scene in scenes.all { notify(scene, .failed(error)) }
    for number in waiting.keys.sorted() { effects.append(.refuse(number, error)) }
    waiting = [:]
  }

  private mutating func abandon(_ error: AuthenticationError) {
    guard let number = evaluation?.number else { return }
    evaluation?.isAbandoned = true
    effects.append(.cancelEvaluation(number))
    fail(error)
    // It may have opened something already.
    wipe()
  }

  // MARK: - Locking

  /// Locks; an evaluation under way ends with an error.
  private mutating func close(_ error: AuthenticationError?) {
    let isAwaited = next.take() != nil && !waiting.isEmpty
    if let evaluation, !evaluation.isAbandoned {
      abandon(error ?? .takenBackBySystem)
    } else if isAwaited {
      fail(error ?? .takenBackBySystem)
    }
    if case .locked = lock {
      // An evaluation that was abandoned before may have opened something since.
      if evaluation != nil { wipe() }
      return
    }
    lock = .locked
    failure = nil
    wipe()
    guard configuration.isEnabled else { return }
    for scene in scenes.all { notify(scene, .locked) }
  }

  private mutating func wipe() {
    if configuration.isEnabled { effects.append(.wipe) }
  }

  private mutating func configure(_ new: GateConfiguration) {
    let old = configuration
    configuration = new
    if old.isEnabled, !new.isEnabled {
      if let evaluation, !evaluation.isAbandoned {
        self.evaluation?.isAbandoned = true
        effects.append(.cancelEvaluation(evaluation.number))
      }
      for scene in scenes.all { notify(scene, .authenticated) }
      runAll()
    } else if !old.isEnabled, new.isEnabled, !isOpen(at: now) {
      lock = .locked
      wipe()
      for scene in scenes.all { notify(scene, .locked) }
    }
  }

  private mutating func runAll() {
    for number in waiting.keys.sorted() { effects.append(.run(number)) }
    waiting = [:]
  }

  private mutating func notify(_ scene: SceneIdentifier, _ directive: SceneDirective) {
    effects.append(.notify(scene, directive))
  }
}
