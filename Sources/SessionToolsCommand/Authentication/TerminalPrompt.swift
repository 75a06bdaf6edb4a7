import SessionAuthentication
import SessionToolsBase

/// A prompt at the terminal, run by the main thread while that thread waits.
struct TerminalPrompt: AuthenticationPrompt {
  func answer(
    to question: AuthenticationQuestion
  ) async throws(AuthenticationError) -> SecretBytes {
    guard let wake = try? System.Wake() else {
      throw AuthenticationError(.notInteractive, "no further file can be opened")
    }
    let prefix = question.failureCount > 0 ? "That was wrong. " : ""
    let text = "\(prefix)\(question.text) ".escapingControls()
    let line = await MainThread.ask(text, isHidden: question.isSecret, wake: wake)
    guard let line else { throw .cancelledByPerson }
    return line
  }

  func show(_ message: AuthenticationMessage) async {
    switch message {
    case .hint(let text), .problem(let text): StandardError.sayLines(text)
    }
  }
}
