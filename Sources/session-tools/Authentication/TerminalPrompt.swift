import SessionAuthentication
import SessionToolsBase
import ToolBase

/// A prompt at the terminal, run by the main thread while that thread waits.
struct TerminalPrompt: AuthenticationPrompt {
  func answer(to question: AuthenticationQuestion) async -> AuthenticationAnswer {
    guard let wake = try? System.Wake() else { return .cancelled }
    let prefix = question.failureCount > 0 ? "That was wrong. " : ""
    let text = "\(prefix)\(question.text) ".escapingControls()
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        MainThread.perform {
          let answer = try? System.askAtTerminal(
            text, isHidden: question.isSecret, timeout: nil, wake: wake)
          if case .line(let line) = answer {
            continuation.resume(returning: .text(line))
          } else {
            continuation.resume(returning: .cancelled)
          }
        }
      }
    } onCancel: {
      wake.signal()
    }
  }

  func show(_ message: AuthenticationMessage) async {
    switch message {
    case .hint(let text), .problem(let text): StandardError.sayLines(text)
    }
  }
}
