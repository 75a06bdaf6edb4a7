import SessionAuthentication
import SessionToolsBase

/// The exchange between modules and the person while PAM runs; used by one thread.
final class PAMConversation {
  private static let timedOut = "Verification timed out"

  private let attempt: PAMAttempt
  private let prompt: any AuthenticationPrompt
  private let request: AuthenticationRequest
  private var askedCounts: [String: Int] = [:]

  /// Why the person gave no answer: modules return various codes for that.
  private(set) var refusal: AuthenticationError?
  /// The lockout that `pam_faillock` reported.
  private(set) var lockout = LockoutMessage()
  /// Whether a secret was given.
  private(set) var hasGivenSecret = false
  /// Whether a module's last action was to ask the person to do something, or to take an answer.
  private(set) var isPersonInvolved = false

  init(
    _ attempt: PAMAttempt, _ prompt: any AuthenticationPrompt, _ request: AuthenticationRequest
  ) {
    self.attempt = attempt
    self.prompt = prompt
    self.request = request
  }

  /// Passes a module's message on to the person.
  ///
  /// - Returns: The answer to a question, or `nil`.
  func pass(_ message: PAMMessage) -> SecretBytes? {
    // After a cancellation, the next module must not ask the person.
    guard refusal == nil else { return nil }
    switch message {
    case .question(let text, let isSecret):
      return answer(to: text, isSecret: isSecret)
    case .information(let text):
      // pam_fprintd sends this as information, not as a problem, when no finger touched the reader.
      let isOver = text == pamText(Self.timedOut, of: "fprintd") || text == Self.timedOut
      isPersonInvolved = PAMCue.isShown(by: text)
      show(isOver ? .problem(text) : .hint(text), text)
    case .problem(let text):
      isPersonInvolved = false
      show(.problem(text), text)
    }
    return nil
  }

  private func show(_ message: AuthenticationMessage, _ text: String) {
    lockout.read(text)
    // It waits, so that messages stay in order.
    _ = attempt.wait { [prompt] in await prompt.show(message) }
  }

  private func answer(to text: String, isSecret: Bool) -> SecretBytes? {
    let question = AuthenticationQuestion(
      text: text, isSecret: isSecret, failureCount: askedCounts[text, default: 0],
      request: request)
    askedCounts[text, default: 0] += 1
    switch attempt.wait(for: { [prompt] in await prompt.result(of: question) }) {
    case .success(let answer):
      guard PAMTransaction.takes(answer) else {
        refusal = AuthenticationError(
          .failed,
          "the answer contains a NUL, or is longer than the "
            + "\(PAMTransaction.maximumAnswerByteCount) bytes that PAM accepts")
        return nil
      }
      isPersonInvolved = true
      hasGivenSecret = hasGivenSecret || isSecret
      return answer
    case .failure(let error): refusal = error
    // Not reported: the waiter has already received the reason for the end.
    case nil: refusal = .cancelledByApp
    }
    return nil
  }
}

/// The messages of `pam_faillock` while it keeps an account locked.
///
/// Only its text reveals the lockout: its return code is the one for a wrong password. The text is
/// in the program's language, so it is compared with the module's own text for each number in it.
struct LockoutMessage {
  /// Whether the account is locked.
  private(set) var isLocked = false
  /// How long it stays locked, if the module said so.
  private(set) var remaining: Duration?

  /// Reads one message of a module.
  mutating func read(_ text: String) {
    for number in Self.numbers(in: text) {
      if text == Self.failures(number, "%u") { isLocked = true }
      if text == Self.minutes(number, "%d") { remaining = .seconds(60) * number }
    }
    // For a version with slightly different wording, in English.
    if text.lowercased().contains("account is locked") { isLocked = true }
  }

  private static func failures(_ count: Int, _ placeholder: String) -> String {
    // The text has only this form, even for one failure.
    pamText("The account is locked due to %u failed logins.")
      .replacing(placeholder, with: String(count))
  }

  private static func minutes(_ count: Int, _ placeholder: String) -> String {
    pamText("(%d minute left to unlock)", "(%d minutes left to unlock)", count: UInt(count))
      .replacing(placeholder, with: String(count))
  }

  /// Returns the numbers in a text that could count failures or minutes.
  private static func numbers(in text: String) -> [Int] {
    text.split { !("0"..."9").contains($0) }.compactMap { Int($0) }.filter { $0 < 1_000_000_000 }
  }
}
