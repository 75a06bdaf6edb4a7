import Foundation
import SessionToolsBase
import SessionToolsTesting
import Testing

/// An item that expires.
struct Token: Codable, Equatable, ExpiringItem, Identifiable, Sendable {
  var id = "ada"
  var number = 0
  var expirationDate: Date?
}

/// A server that exchanges each token for a newer one, and records the requests.
final class TokenServer: Sendable {
  private struct State {
    var spent: [Int] = []
    var requests: [RefreshRequest<Token>] = []
    var answers: [@Sendable (RefreshRequest<Token>) async throws -> RefreshOutcome<Token>] = []
    var lifetime: Duration = .seconds(3600)
  }

  private let state = Shared(State())
  let clock: ManualClock

  init(_ clock: ManualClock = ManualClock()) {
    self.clock = clock
  }

  /// The tokens that were spent, in order.
  var spent: [Int] { state.current.spent }
  var requests: [RefreshRequest<Token>] { state.current.requests }

  var lifetime: Duration {
    get { state.current.lifetime }
    set { state.update { $0.lifetime = newValue } }
  }

  /// Answers the next request in another way.
  func next(
    _ answer: @escaping @Sendable (RefreshRequest<Token>) async throws -> RefreshOutcome<Token>
  ) {
    state.update { $0.answers.append(answer) }
  }

  /// Answers the next requests with a temporary failure.
  func failNext(_ count: Int = 1) {
    for _ in 0..<count { next { _ in .transientFailure(TestError(text: "no network")) } }
  }

  func answer(_ request: RefreshRequest<Token>) async throws -> RefreshOutcome<Token> {
    let answer = state.update { state in
      state.requests.append(request)
      return state.answers.isEmpty ? nil : state.answers.removeFirst()
    }
    if let answer { return try await answer(request) }
    return .refreshed(renewed(request.item))
  }

  func renewed(_ token: Token) -> Token {
    state.update { $0.spent.append(token.number) }
    return Token(
      id: token.id, number: token.number + 1,
      expirationDate: clock.now + lifetime / .seconds(1))
  }

  /// Returns a token that expires after a duration.
  func token(in duration: Duration?, number: Int = 0) -> Token {
    Token(number: number, expirationDate: duration.map { clock.now + $0 / .seconds(1) })
  }

  func refresher(_ change: (inout RefreshPolicy) -> Void = { _ in }) -> SessionRefresher<Token> {
    var policy = RefreshPolicy()
    change(&policy)
    return SessionRefresher(policy: policy, clock: clock) { try await self.answer($0) }
  }

  func session(
    _ store: some SecretStore = MemoryStore(), poster: (any NotificationPosting)? = nil,
    _ change: (inout RefreshPolicy) -> Void = { _ in }
  ) throws -> UserSession<Token> {
    UserSession(
      container: try StoreContainer<Token>(store, service: "mail"), storageIdentifier: "token",
      notificationPoster: poster, refresher: refresher(change))
  }
}

/// Holds refreshes until the test releases them.
final class Door: Sendable {
  private let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self)
  private let (openings, opened) = AsyncStream.makeStream(of: Void.self)

  /// Called by a refresh: waits until the door is opened.
  func pass() async {
    arrived.yield()
    for await _ in openings { return }
  }

  /// Waits until a refresh is at the door.
  func waitForArrival() async {
    for await _ in arrivals { return }
  }

  func open() { opened.finish() }
}

/// Expects a session's error with a code.
@discardableResult
func expectFailure(
  _ code: SessionError.Code, sourceLocation: SourceLocation = #_sourceLocation,
  _ body: () async throws -> some Any
) async -> SessionError? {
  let error = await #expect(throws: SessionError.self, sourceLocation: sourceLocation) {
    _ = try await body()
  }
  #expect(error?.code == code, sourceLocation: sourceLocation)
  return error
}
