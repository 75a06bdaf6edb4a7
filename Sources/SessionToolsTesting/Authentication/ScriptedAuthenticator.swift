public import SessionAuthentication
import Synchronization

/// An authenticator with prepared answers, for tests and for previews of a user interface.
public final class ScriptedAuthenticator: UserAuthenticator {
  /// The result of one evaluation.
  public enum Answer: Sendable {
    /// The person is authenticated.
    case success
    /// The person is not authenticated.
    case failure(AuthenticationError)
    /// The evaluation waits until its task is cancelled or ``ScriptedAuthenticator/answer(_:)`` is
    /// called.
    case waiting
  }

  private struct State {
    var answers: [Answer]
    var unavailability: AuthenticationError?
    var requests: [AuthenticationRequest] = []
    var underWay: [Int: CheckedContinuation<Result<Void, AuthenticationError>, Never>] = [:]
    var isOver: Set<Int> = []
  }

  /// The method that it reports.
  public let method: AuthenticationMethod
  private let state: Mutex<State>

  /// Prepares answers.
  ///
  /// - Parameters:
  ///   - answers: The results of the first evaluations; the last one is used for all that follow.
  ///   - unavailability: The reason why it is not available; `nil` if it is.
  ///   - method: The method that it reports.
  public init(
    _ answers: [Answer] = [.success], unavailability: AuthenticationError? = nil,
    method: AuthenticationMethod = AuthenticationMethod("scripted")
  ) {
    self.method = method
    state = Mutex(State(answers: answers, unavailability: unavailability))
  }

  /// The requests so far.
  public var requests: [AuthenticationRequest] { state.withLock { $0.requests } }

  /// The number of waiting evaluations.
  public var underWayCount: Int { state.withLock { $0.underWay.count } }

  /// Checks that no reason was prepared why it is not available.
  ///
  /// - Throws: The prepared reason.
  public func checkAvailability() async throws(AuthenticationError) {
    if let error = state.withLock({ $0.unavailability }) { throw error }
  }

  /// Appends another answer to the prepared ones.
  public func append(_ answer: Answer) {
    state.withLock { $0.answers.append(answer) }
  }

  /// Ends all waiting evaluations with a result.
  public func answer(_ result: Result<Void, AuthenticationError>) {
    let waiting = state.withLock { state in
      defer { state.underWay = [:] }
      return state.underWay.values
    }
    for continuation in waiting { continuation.resume(returning: result) }
  }

  /// Returns or throws the prepared answer.
  ///
  /// - Throws: The prepared error; `appCancel` when the task is cancelled.
  public func evaluate(
    _ request: AuthenticationRequest
  ) async throws(AuthenticationError) -> AuthenticationMethod {
    let (number, answer) = state.withLock { state in
      state.requests.append(request)
      let answer = state.answers.count > 1 ? state.answers.removeFirst() : state.answers.first
      return (state.requests.count, answer ?? .waiting)
    }
    switch answer {
    case .success: break
    case .failure(let error): throw error
    case .waiting: try await wait(number).get()
    }
    return method
  }

  private func wait(_ number: Int) async -> Result<Void, AuthenticationError> {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          if state.isOver.remove(number) != nil { return true }
          state.underWay[number] = continuation
          return false
        }
        if isOver { continuation.resume(returning: .failure(.cancelledByApp)) }
      }
    } onCancel: {
      let continuation = state.withLock { state in
        let continuation = state.underWay.removeValue(forKey: number)
        // The task may be cancelled before it waits.
        if continuation == nil { state.isOver.insert(number) }
        return continuation
      }
      continuation?.resume(returning: .failure(.cancelledByApp))
    }
  }
}
