#if GTKScenes
import SessionAuthentication
import SessionToolsBase
import Synchronization

/// A question that waits for its answer, on whatever thread that is given.
final class OpenQuestion: Sendable {
  typealias Answer = Result<SecretBytes, AuthenticationError>

  private enum State {
    case unasked
    case asked(CheckedContinuation<Answer, Never>)
    case answered(Answer)
  }

  let question: AuthenticationQuestion
  private let state = Mutex(State.unasked)

  init(_ question: AuthenticationQuestion) { self.question = question }

  var isAnswered: Bool {
    state.withLock { if case .answered = $0 { true } else { false } }
  }

  /// Gives the answer; the first one counts.
  func end(_ answer: Answer) {
    let waiting = state.withLock { state -> CheckedContinuation<Answer, Never>? in
      defer { if case .answered = state {} else { state = .answered(answer) } }
      if case .asked(let waiting) = state { return waiting }
      return nil
    }
    waiting?.resume(returning: answer)
  }

  /// Waits for the answer, which is `userCancel` when the task is cancelled.
  ///
  /// - Throws: `userCancel`, `userFallback`.
  func answer() async throws(AuthenticationError) -> SecretBytes {
    let answer = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let answer = state.withLock { state -> Answer? in
          if case .answered(let answer) = state { return answer }
          state = .asked(continuation)
          return nil
        }
        if let answer { continuation.resume(returning: answer) }
      }
    } onCancel: {
      end(.failure(.cancelledByPerson))
    }
    return try answer.get()
  }
}
#endif
