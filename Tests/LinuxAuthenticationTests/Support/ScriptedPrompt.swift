import SessionAuthentication
import SessionToolsBase
import Synchronization

/// A prompt that gives prepared answers, and records questions and messages.
final class ScriptedPrompt: AuthenticationPrompt {
  enum Answer: Sendable {
    case text(String)
    case bytes([UInt8])
    case cancelled
    case fallback
    /// No answer until the question is taken back.
    case never
  }

  struct State {
    var answers: [Answer]
    var questions: [AuthenticationQuestion] = []
    var messages: [AuthenticationMessage] = []
    var takenBackCount = 0
  }

  private let state: Mutex<State>

  /// - Parameter answers: One for each question; further questions are cancelled.
  init(_ answers: Answer...) {
    state = Mutex(State(answers: answers))
  }

  var questions: [AuthenticationQuestion] { state.withLock { $0.questions } }
  var messages: [AuthenticationMessage] { state.withLock { $0.messages } }
  /// The number of questions that were taken back before they were answered.
  var takenBackCount: Int { state.withLock { $0.takenBackCount } }

  func answer(
    to question: AuthenticationQuestion
  ) async throws(AuthenticationError) -> SecretBytes {
    let answer = state.withLock { state -> Answer in
      state.questions.append(question)
      return state.answers.isEmpty ? .cancelled : state.answers.removeFirst()
    }
    switch answer {
    case .text(let text): return SecretBytes(utf8: text)
    case .bytes(let bytes): return SecretBytes(bytes)
    case .cancelled: throw .cancelledByPerson
    case .fallback: throw .personWantsAnotherWay
    case .never:
      while !Task.isCancelled { try? await Task.sleep(for: .seconds(3600)) }
      state.withLock { $0.takenBackCount += 1 }
      throw .cancelledByPerson
    }
  }

  func show(_ message: AuthenticationMessage) async {
    state.withLock { $0.messages.append(message) }
  }
}
