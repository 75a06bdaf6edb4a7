import SessionAuthentication

/// A second implementation of the gate's rules, by facts about past events, to compare with.
struct GateModel {
  /// The expected outcome of an event, without the directives to scenes.
  struct Outcome: Equatable {
    var evaluated: [Int] = []
    var cancelled: [Int] = []
    var run: Set<Int> = []
    var refused: [Int: AuthenticationError.Code] = [:]
    var isWiped = false
  }

  struct Window {
    var hasFocus = false
    var isShown = false
    var turn = 0
  }

  var configuration: GateConfiguration
  var now: BootInstant
  var windows: [SceneIdentifier: Window] = [:]
  var hasHadWindows = false
  var turns = 0

  /// The last valid success, and whether anything has ended it since.
  var success: (any AuthenticationToken)?
  var isEnded = false
  /// When the absence began, and how long it may last.
  var absence: (since: Duration, limit: Duration)?

  var question: (number: Int, presenter: SceneIdentifier?, asked: Duration, isAnswerWanted: Bool)?
  var questionCount = 0
  /// The presenter of the next question; `.some(nil)` for any presenter.
  var nextPresenter: SceneIdentifier??
  var waiting: [Int: SceneIdentifier?] = [:]
  var turnedAway: Duration?
  var isScreenLocked = false
  var isAsleep = false

  var isAuthenticated: Bool {
    guard let success, !isEnded, success.isValid(at: now) else { return false }
    if let absence, now.uptime >= absence.since + absence.limit { return false }
    return true
  }

  var isOpen: Bool { !configuration.isEnabled || isAuthenticated }

  var isNobodyThere: Bool {
    guard hasHadWindows else { return false }
    switch configuration.invalidation {
    case .resignActive: return windows.values.allSatisfy { !$0.hasFocus }
    case .enterBackground: return windows.values.allSatisfy { !$0.isShown }
    case .never: return false
    }
  }

  var frontmost: SceneIdentifier? {
    let focused = windows.filter { $0.value.hasFocus }
    let shown = windows.filter { $0.value.isShown }
    return (focused.isEmpty ? shown : focused).max { $0.value.turn < $1.value.turn }?.key
  }

  // MARK: - What happens

  mutating func handle(_ event: GateMachine.Event, at instant: BootInstant) -> Outcome {
    var outcome = Outcome()
    now = instant
    if let question, question.isAnswerWanted,
      now.uptime >= question.asked + configuration.evaluationTimeout
    {
      giveUp(AuthenticationError.timedOut, &outcome)
    }
    if success != nil, !isEnded, !isAuthenticated { end(&outcome) }
    switch event {
    case .connect(let scene, let isActive):
      turns += 1
      let wasThere = windows[scene] != nil && !isNobodyThere
      windows[scene] = Window(turn: turns)
      hasHadWindows = true
      if isActive {
        becomeActive(scene, &outcome)
      } else if wasThere {
        mayBeAbsent(configuration.focusReturnDuration, &outcome)
      }
    case .disconnect(let scene): disconnect(scene, &outcome)
    case .scene(let event, let scene):
      guard windows[scene] != nil else { break }
      switch event {
      case .didBecomeActive:
        // No window gets the focus behind a locked desktop.
        if windows[scene]?.hasFocus == false { isScreenLocked = false }
        becomeActive(scene, &outcome)
      case .willEnterForeground:
        windows[scene]?.isShown = true
        comeBack()
      case .willResignActive:
        windows[scene]?.hasFocus = false
        leave(&outcome)
      case .didEnterBackground:
        windows[scene]?.hasFocus = false
        windows[scene]?.isShown = false
        leave(&outcome)
      }
    case .system(let event): system(event, &outcome)
    case .wait(let number, let scene, let request):
      wait(number, scene, request.map(\.presenter), &outcome)
    case .stopWaiting(let number, let error):
      if waiting.removeValue(forKey: number) != nil { outcome.refused[number] = error.code }
    case .evaluationEnded(let number, let result): ended(number, result, &outcome)
    case .invalidate:
      close(AuthenticationError.appCancel, &outcome)
      turnedAway = now.uptime
    case .configure(let new): configure(new, &outcome)
    case .tick: break
    }
    return outcome
  }

  private mutating func becomeActive(_ scene: SceneIdentifier, _ outcome: inout Outcome) {
    turns += 1
    windows[scene] = Window(hasFocus: true, isShown: true, turn: turns)
    comeBack()
    askUnasked(scene, &outcome)
  }

  private mutating func comeBack() {
    if !isNobodyThere { absence = nil }
  }

  private mutating func leave(_ outcome: inout Outcome) {
    if question != nil { return }
    if let moment = turnedAway, now.uptime - moment >= configuration.focusReturnDuration {
      turnedAway = nil
    }
    mayBeAbsent(.zero, &outcome)
  }

  private mutating func mayBeAbsent(_ least: Duration, _ outcome: inout Outcome) {
    guard success != nil, !isEnded, absence == nil, isNobodyThere else { return }
    var limit = max(configuration.graceDuration, least)
    if configuration.invalidation == .resignActive {
      limit = max(limit, configuration.switchingDuration)
    }
    if limit == .zero { end(&outcome) } else { absence = (now.uptime, limit) }
  }

  private mutating func disconnect(_ scene: SceneIdentifier, _ outcome: inout Outcome) {
    guard windows.removeValue(forKey: scene) != nil else { return }
    for (number, itsScene) in waiting where itsScene == .some(scene) {
      waiting[number] = nil
      outcome.refused[number] = AuthenticationError.appCancel
    }
    if question?.isAnswerWanted == true, question?.presenter == scene {
      giveUp(AuthenticationError.appCancel, &outcome)
    } else {
      mayBeAbsent(.zero, &outcome)
    }
  }

  private mutating func system(_ event: SystemEvent, _ outcome: inout Outcome) {
    switch event {
    case .sessionLocked:
      isScreenLocked = true
      if configuration.locksWithSession { close(AuthenticationError.systemCancel, &outcome) }
    case .willSleep:
      isAsleep = true
      if configuration.locksBeforeSleep { close(AuthenticationError.systemCancel, &outcome) }
    case .sessionUnlocked, .didWake:
      if event == .didWake { isAsleep = false } else { isScreenLocked = false }
      turnedAway = nil
      if let scene = frontmost, windows[scene]?.hasFocus == true { askUnasked(scene, &outcome) }
    }
  }

  // MARK: - Asking

  private mutating func askUnasked(_ scene: SceneIdentifier, _ outcome: inout Outcome) {
    if configuration.requestsAutomatically, turnedAway == nil, !isScreenLocked, !isAsleep {
      ask(scene, &outcome)
    }
  }

  private mutating func ask(_ presenter: SceneIdentifier?, _ outcome: inout Outcome) {
    if isOpen { return }
    if let question {
      if !question.isAnswerWanted, nextPresenter == nil { nextPresenter = .some(presenter) }
      return
    }
    questionCount += 1
    question = (questionCount, presenter ?? frontmost, now.uptime, true)
    outcome.evaluated.append(questionCount)
  }

  private mutating func wait(
    _ number: Int, _ scene: SceneIdentifier?, _ request: SceneIdentifier??,
    _ outcome: inout Outcome
  ) {
    if isOpen {
      outcome.run.insert(number)
      return
    }
    if let scene, windows[scene] == nil {
      outcome.refused[number] = AuthenticationError.appCancel
      return
    }
    if case .some(.some(let presenter)) = request, windows[presenter] == nil {
      outcome.refused[number] = AuthenticationError.appCancel
      return
    }
    if waiting.count >= configuration.maximumDeferredCount {
      outcome.refused[number] = AuthenticationError.busy
      return
    }
    waiting[number] = .some(scene)
    if case .some(let presenter) = request { ask(presenter, &outcome) }
  }

  private mutating func ended(
    _ number: Int, _ result: Result<any AuthenticationToken, AuthenticationError>,
    _ outcome: inout Outcome
  ) {
    guard let question, question.number == number else { return }
    self.question = nil
    guard question.isAnswerWanted else {
      outcome.isWiped = configuration.isEnabled
      guard case .some(let presenter) = nextPresenter else { return }
      nextPresenter = nil
      if let presenter, windows[presenter] == nil {
        if !waiting.isEmpty { ask(nil, &outcome) }
        return
      }
      return ask(presenter, &outcome)
    }
    switch result {
    case .success(let token) where token.isValid(at: now):
      (success, isEnded, absence, turnedAway) = (token, false, nil, nil)
      outcome.run.formUnion(waiting.keys)
      waiting = [:]
      mayBeAbsent(configuration.focusReturnDuration, &outcome)
    case .success:
      turnAway(AuthenticationError.invalidToken, &outcome)
      outcome.isWiped = configuration.isEnabled
    case .failure(let error):
      turnAway(error.code, &outcome)
      outcome.isWiped = configuration.isEnabled
    }
  }

  // MARK: - Ends

  private mutating func turnAway(_ code: AuthenticationError.Code, _ outcome: inout Outcome) {
    turnedAway = now.uptime
    for number in waiting.keys { outcome.refused[number] = code }
    waiting = [:]
  }

  private mutating func giveUp(_ code: AuthenticationError.Code, _ outcome: inout Outcome) {
    guard let number = question?.number else { return }
    question?.isAnswerWanted = false
    outcome.cancelled.append(number)
    turnAway(code, &outcome)
    if configuration.isEnabled { outcome.isWiped = true }
  }

  private mutating func close(_ code: AuthenticationError.Code, _ outcome: inout Outcome) {
    let isAwaited = nextPresenter != nil && !waiting.isEmpty
    nextPresenter = nil
    if question?.isAnswerWanted == true {
      giveUp(code, &outcome)
    } else if isAwaited {
      turnAway(code, &outcome)
    }
    if question != nil, configuration.isEnabled { outcome.isWiped = true }
    end(&outcome)
  }

  private mutating func end(_ outcome: inout Outcome) {
    guard success != nil, !isEnded else { return }
    isEnded = true
    nextPresenter = nil
    absence = nil
    if configuration.isEnabled { outcome.isWiped = true }
  }

  private mutating func configure(_ new: GateConfiguration, _ outcome: inout Outcome) {
    let was = configuration.isEnabled
    configuration = new
    if was, !new.isEnabled {
      if let question, question.isAnswerWanted {
        self.question?.isAnswerWanted = false
        outcome.cancelled.append(question.number)
      }
      outcome.run.formUnion(waiting.keys)
      waiting = [:]
    }
    if !was, new.isEnabled, !isOpen { outcome.isWiped = true }
  }
}
