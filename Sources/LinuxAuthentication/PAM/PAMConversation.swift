import SessionAuthentication
import SessionToolsBase

/// What passes between modules and the person while PAM runs; of one thread.
final class PAMConversation {
  private static let timedOut = "Verification timed out"

  private let attempt: PAMAttempt
  private let prompt: any AuthenticationPrompt
  private let request: AuthenticationRequest
  private var askedCounts: [String: Int] = [:]

  /// Why the person gave no answer: modules make any code they like of that.
  private(set) var refusal: AuthenticationError?
  /// What `pam_faillock` said.
  private(set) var notice = LockoutNotice()
  /// Whether a secret was given.
  private(set) var hasGivenSecret = false
  /// Whether the last thing that a module did was to tell the person something, or to take an
  /// answer.
  private(set) var isPersonInvolved = false

  init(
    _ attempt: PAMAttempt, _ prompt: any AuthenticationPrompt, _ request: AuthenticationRequest
  ) {
    self.attempt = attempt
    self.prompt = prompt
    self.request = request
  }

  /// Passes on what a module says.
  ///
  /// - Returns: The answer to a question; `nil` when there is none.
  func pass(_ message: PAMMessage) -> SecretBytes? {
    // Whoever cancelled is not asked by the next module.
    guard refusal == nil else { return nil }
    switch message {
    case .question(let text, let isSecret):
      return answer(to: text, isSecret: isSecret)
    case .information(let text):
      // pam_fprintd says so, and not as a problem, when nobody has touched the reader.
      let isOver = text == pamText(Self.timedOut, of: "fprintd") || text == Self.timedOut
      isPersonInvolved = !isOver
      show(isOver ? .problem(text) : .hint(text), text)
    case .problem(let text):
      isPersonInvolved = false
      show(.problem(text), text)
    }
    return nil
  }

  private func show(_ message: AuthenticationMessage, _ text: String) {
    notice.read(text)
    // Waited for, so that nothing overtakes it.
    _ = attempt.wait { [prompt] in await prompt.show(message) }
  }

  private func answer(to text: String, isSecret: Bool) -> SecretBytes? {
    let question = AuthenticationQuestion(
      text: text, isSecret: isSecret, failureCount: askedCounts[text, default: 0],
      request: request)
    askedCounts[text, default: 0] += 1
    switch attempt.wait(for: { [prompt] in await prompt.answer(to: question) }) {
    case .text(let answer):
      guard PAMTransaction.takes(answer) else {
        refusal = AuthenticationError(
          AuthenticationError.failed,
          "the answer has a NUL, or more bytes than the \(PAMTransaction.largestAnswerByteCount) "
            + "that PAM takes")
        return nil
      }
      isPersonInvolved = true
      hasGivenSecret = hasGivenSecret || isSecret
      return answer
    case .cancelled: refusal = .cancelledByPerson
    case .fallback: refusal = .personWantsAnotherWay
    // Nobody hears of it: whoever waited was told why it is over.
    case nil: refusal = .cancelledByApp
    }
    return nil
  }
}
