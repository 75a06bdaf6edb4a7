import Glibc
import SessionAuthentication
import SessionToolsBase
import SessionToolsTesting
import Testing

/// A gate with a scripted authenticator, and the directives that its scenes got.
struct TestGate: Sendable {
  let clock = ManualClock()
  let authenticator: ScriptedAuthenticator
  let gate: AuthenticationGate
  let reported = Recorder<Reported>()

  struct Reported: Sendable, Equatable {
    let scene: SceneIdentifier
    let directive: String
  }

  init(
    _ answers: ScriptedAuthenticator.Answer..., lifetime: Duration? = nil,
    change: (inout GateConfiguration) -> Void = { _ in }
  ) {
    authenticator = ScriptedAuthenticator(answers.isEmpty ? [.success] : answers)
    var configuration = GateConfiguration()
    change(&configuration)
    gate = AuthenticationGate(
      authenticator, lifetime: lifetime, configuration: configuration, clock: clock
    ) {
      AuthenticationRequest(reason: "test")
    }
  }

  /// How often a question was asked.
  var askedCount: Int { authenticator.requests.count }

  func connect(_ scenes: SceneIdentifier..., isActive: Bool = false) {
    for scene in scenes {
      gate.connect(scene, isActive: isActive) {
        reported.append(Reported(scene: scene, directive: $0.name))
      }
    }
  }

  /// Returns the directives that one scene got.
  func reported(_ scene: SceneIdentifier) -> [String] {
    reported.all.filter { $0.scene == scene }.map(\.directive)
  }

  /// Opens the gate, and waits until all scenes got their directives.
  func open() async throws {
    try await gate.authenticate()
    try #require(!gate.requiresAuthentication)
    // The thread that resumed this one may still be sending directives. It would then also send
    // those of this thread's next calls.
    try await waitUntil { !isReporting }
  }

  /// Whether another thread is sending directives.
  private var isReporting: Bool {
    let own = pthread_self()
    let calls = Recorder<Bool>()
    gate.deferUntilAuthenticated { _ in calls.append(pthread_self() == own) }
    return calls.all != [true]
  }

  /// Waits until a question is being asked.
  func waitUntilAsked(_ count: Int = 1) async throws {
    try await waitUntil { authenticator.underWayCount > 0 && askedCount == count }
  }
}

extension SceneDirective {
  var name: String {
    switch self {
    case .locked: "locked"
    case .authenticating(let isPresenter): isPresenter ? "presents" : "authenticating"
    case .authenticated: "authenticated"
    case .failed(let error): "failed: \(error.code)"
    }
  }
}

extension AuthenticationError {
  static let userCancelled = AuthenticationError(.userCancel, "no")
}

/// Expects an error with a code.
@discardableResult
func expectFailure(
  _ code: AuthenticationError.Code, sourceLocation: SourceLocation = #_sourceLocation,
  _ body: () async throws -> some Any
) async -> AuthenticationError? {
  let error = await #expect(throws: AuthenticationError.self, sourceLocation: sourceLocation) {
    _ = try await body()
  }
  #expect(error?.code == code, sourceLocation: sourceLocation)
  return error
}

extension GateConfiguration {
  /// For questions with the machine's clock, because other tests may keep all threads busy.
  static var patient: GateConfiguration {
    var configuration = GateConfiguration()
    configuration.evaluationTimeout = .seconds(86_400)
    return configuration
  }
}
