import SessionAuthentication
import SessionToolsBase
import Testing
import SessionToolsTestSupport

/// Random sequences of events, handled by the gate and by its model.
struct GateModelTests {
  /// Two tasks, because one would use only one processor.
  @Test(arguments: 0..<2)
  func `the gate follows its rules, whatever happens`(part: Int) async throws {
    let count = TestSize.choose(small: 2000, medium: 50_000, large: 2_000_000) / 2
    for number in 0..<count {
      // Other tests, which wait for something, run on the same threads.
      if number.isMultiple(of: 100) { await Task.yield() }
      let seed = UInt64(part * count + number)
      var sequence = GateSequence(seed: seed)
      if let difference = sequence.firstDifference() {
        Issue.record("seed \(seed): \(difference)")
        return
      }
    }
  }

  @Test func `the sequences reach every state of a gate`() throws {
    var seen: Set<String> = []
    for seed in 0..<500 {
      var sequence = GateSequence(seed: UInt64(seed))
      #expect(sequence.firstDifference() == nil)
      seen.formUnion(sequence.seen)
    }
    let all: Set = [
      "locked", "evaluating", "unlocked", "grace", "failed", "disabled", "abandoned",
      "asked automatically",
      "asked again after an abandoned one", "ran", "refused", "wiped", "expired", "late answer",
    ]
    #expect(seen.isSuperset(of: all), "\(all.subtracting(seen))")
  }
}

/// A sequence that a seed determines.
struct GateSequence {
  private static let scenes: [SceneIdentifier] = ["a", "b", "c"]
  private static let times: [Duration] = [
    .zero, .zero, .milliseconds(100), .milliseconds(300), .seconds(1), .seconds(5), .seconds(15),
    .seconds(60), .seconds(200),
  ]

  private var random: SeededGenerator
  private var machine: GateMachine
  private var model: GateModel
  private var now = BootInstant(bootIdentifier: "boot", uptime: .seconds(1000))
  private var connected: Set<SceneIdentifier> = []
  private var waiterCount = 0
  private var live: Set<Int> = []
  /// The live waiters that request a question.
  private var asking: Set<Int> = []
  private var underWay: Int?
  /// The situations that this sequence has reached.
  private(set) var seen: Set<String> = []

  init(seed: UInt64) {
    random = SeededGenerator(seed: seed)
    var configuration = GateConfiguration()
    configuration.invalidation =
      [.resignActive, .enterBackground, .never]
      .randomElement(using: &random) ?? .never
    configuration.graceDuration = [.zero, .seconds(15)].randomElement(using: &random) ?? .zero
    configuration.requestsAutomatically = Int.random(in: 0..<4, using: &random) > 0
    configuration.locksWithSession = Int.random(in: 0..<4, using: &random) > 0
    configuration.locksBeforeSleep = Int.random(in: 0..<4, using: &random) > 0
    configuration.maximumDeferredCount = 3
    machine = GateMachine(configuration, token: nil, at: now)
    model = GateModel(configuration: configuration, now: now)
  }

  /// Returns the first difference between the gate and its model.
  mutating func firstDifference() -> String? {
    for step in 0..<24 {
      now = now.advanced(by: Self.times.randomElement(using: &random) ?? .zero)
      let event = event()
      if let difference = difference(by: event) { return "step \(step), \(event): \(difference)" }
    }
    return nil
  }

  private mutating func event() -> GateMachine.Event {
    let scene = Self.scenes.randomElement(using: &random) ?? "a"
    switch Int.random(in: 0..<22, using: &random) {
    case 0, 1: return .connect(scene, isActive: Bool.random(using: &random))
    case 2: return .disconnect(scene)
    case 3...8:
      return .scene(SceneEvent.allCases.randomElement(using: &random) ?? .didBecomeActive, scene)
    case 9:
      let events: [SystemEvent] = [.sessionLocked, .sessionUnlocked, .willSleep, .didWake]
      return .system(events.randomElement(using: &random) ?? .didWake)
    case 10...12:
      waiterCount += 1
      let request = GateMachine.Request(presenter: Bool.random(using: &random) ? scene : nil)
      return .wait(
        waiterCount, in: Int.random(in: 0..<3, using: &random) == 0 ? scene : nil,
        Int.random(in: 0..<3, using: &random) == 0 ? nil : request)
    case 13:
      return .stopWaiting(
        live.sorted().randomElement(using: &random) ?? 0,
        AuthenticationError(.timedOut, "too long"))
    case 14...18: return answer()
    case 19: return .invalidate
    case 20:
      var configuration = machine.configuration
      configuration.isEnabled = Int.random(in: 0..<3, using: &random) > 0
      return .configure(configuration)
    default: return .tick
    }
  }

  private mutating func answer() -> GateMachine.Event {
    let number = underWay ?? Int.random(in: 0..<4, using: &random)
    let lifetimes: [Duration?] = [nil, nil, .zero, .seconds(1), .seconds(60)]
    let lifetime = lifetimes.randomElement(using: &random) ?? nil
    // Sometimes the token is from the future.
    let issued = Int.random(in: 0..<12, using: &random) == 0 ? now.advanced(by: .seconds(1)) : now
    if Int.random(in: 0..<3, using: &random) == 0 {
      return .evaluationEnded(
        number, .failure(AuthenticationError(.userCancel, "no")))
    }
    return .evaluationEnded(number, .success(TimedToken(issued: issued, lifetime: lifetime)))
  }

  private mutating func difference(by event: GateMachine.Event) -> String? {
    let wasOpen = machine.isOpen(at: now)
    let wasEvaluating = underWay
    let effects = machine.handle(event, at: now)
    let expected = model.handle(event, at: now)
    var outcome = GateModel.Outcome()
    var reported: [SceneIdentifier: [SceneDirective]] = [:]
    for effect in effects {
      switch effect {
      case .notify(let scene, let directive): reported[scene, default: []].append(directive)
      case .evaluate(let number, _): outcome.evaluated.append(number)
      case .cancelEvaluation(let number): outcome.cancelled.append(number)
      case .wipe: outcome.isWiped = true
      case .run(let number):
        if !outcome.run.insert(number).inserted { return "\(number) was run twice" }
      case .refuse(let number, let error):
        if outcome.refused.updateValue(error.code, forKey: number) != nil {
          return "\(number) was refused twice"
        }
      }
    }
    guard outcome == expected else { return "\(outcome) is not \(expected)" }
    guard machine.isOpen(at: now) == model.isOpen else { return "open is not \(model.isOpen)" }
    note(event, outcome, wasOpen: wasOpen, wasEvaluating: wasEvaluating)
    return countingDifference(event, outcome) ?? reportingDifference(event, outcome, reported)
  }

  /// Checks that there is one evaluation at a time, and one answer for each waiter.
  private mutating func countingDifference(
    _ event: GateMachine.Event, _ outcome: GateModel.Outcome
  ) -> String? {
    if case .wait(let number, _, _) = event { live.insert(number) }
    if case .evaluationEnded(let number, _) = event, number == underWay { underWay = nil }
    for number in outcome.evaluated {
      if underWay != nil { return "a second evaluation at the same time" }
      underWay = number
    }
    for number in outcome.run.union(outcome.refused.keys) where live.remove(number) == nil {
      return "\(number) was answered twice"
    }
    if !outcome.run.isEmpty, !live.isEmpty { return "\(live) were left behind" }
    if case .wait(let number, _, .some) = event { asking.insert(number) }
    asking.formIntersection(live)
    if !asking.isEmpty, underWay == nil { return "\(asking) wait for a question that is not asked" }
    return nil
  }

  /// Checks that the directives match the state, and that each scene gets every beginning and end.
  private mutating func reportingDifference(
    _ event: GateMachine.Event, _ outcome: GateModel.Outcome,
    _ reported: [SceneIdentifier: [SceneDirective]]
  ) -> String? {
    if case .connect(let scene, _) = event { connected.insert(scene) }
    for scene in reported.keys where !connected.contains(scene) { return "\(scene) is not there" }
    if case .disconnect(let scene) = event { connected.remove(scene) }
    for scene in connected {
      guard let last = reported[scene]?.last else {
        if !outcome.evaluated.isEmpty || !outcome.cancelled.isEmpty { return "\(scene) not told" }
        continue
      }
      switch last {
      case .authenticated: if !machine.isOpen(at: now), !outcome.isWiped { return "told too much" }
      case .authenticating: if !machine.state(at: now).isEvaluating { return "told of nothing" }
      case .locked, .failed: if machine.isOpen(at: now) { return "not told that it is open" }
      }
    }
    if !outcome.evaluated.isEmpty {
      let presenters = reported.values.count { directives in
        directives.contains { if case .authenticating(true) = $0 { true } else { false } }
      }
      if presenters > 1 { return "\(presenters) presenters" }
      if presenters == 0, model.question?.presenter != nil { return "no presenter" }
    }
    return nil
  }

  private mutating func note(
    _ event: GateMachine.Event, _ outcome: GateModel.Outcome, wasOpen: Bool, wasEvaluating: Int?
  ) {
    switch machine.state(at: now) {
    case .locked: seen.insert("locked")
    case .evaluating: seen.insert("evaluating")
    case .unlocked: seen.insert(machine.configuration.isEnabled ? "unlocked" : "disabled")
    case .grace: seen.insert("grace")
    case .failed: seen.insert("failed")
    }
    if !outcome.cancelled.isEmpty { seen.insert("abandoned") }
    if !outcome.run.isEmpty { seen.insert("ran") }
    if !outcome.refused.isEmpty { seen.insert("refused") }
    if outcome.isWiped { seen.insert("wiped") }
    if case .tick = event, outcome.isWiped { seen.insert("expired") }
    if case .scene = event, !outcome.evaluated.isEmpty { seen.insert("asked automatically") }
    if case .evaluationEnded(let number, _) = event, number == wasEvaluating {
      if !outcome.evaluated.isEmpty { seen.insert("asked again after an abandoned one") }
      if outcome.isWiped { seen.insert("late answer") }
    }
  }
}

/// A token with a time of its own.
private struct TimedToken: AuthenticationToken {
  let issued: BootInstant
  let lifetime: Duration?

  func isValid(at instant: BootInstant) -> Bool {
    guard let age = issued.duration(to: instant), age >= .zero else { return false }
    return lifetime.map { age < $0 } ?? true
  }

  var expiration: BootInstant? { lifetime.map { issued.advanced(by: $0) } }
}

extension AuthenticationGate.State {
  fileprivate var isEvaluating: Bool {
    if case .evaluating = self { true } else { false }
  }
}
