public import SessionToolsBase

/// What a person is asked for, and how.
public struct AuthenticationRequest: Sendable {
  /// Why, as a phrase that completes "the program wants to": such as "show your messages".
  public var reason: String
  /// The title of the choice to authenticate in another way; `nil` when there is no other.
  ///
  /// Whoever chooses it gets `userFallback`.
  public var fallbackTitle: String?
  /// The title of the choice not to; `nil` for the usual one.
  public var cancelTitle: String?
  /// How long the person has; 2 min.
  public var timeout: Duration

  /// Asks for a reason.
  public init(
    reason: String, fallbackTitle: String? = nil, cancelTitle: String? = nil,
    timeout: Duration = .seconds(120)
  ) {
    self.reason = reason
    self.fallbackTitle = fallbackTitle
    self.cancelTitle = cancelTitle
    self.timeout = timeout
  }
}

/// What shows questions to a person: a dialog of the program, or a terminal.
public protocol AuthenticationPrompt: Sendable {
  /// Asks one question, and waits for the answer until its task is cancelled.
  func answer(to question: AuthenticationQuestion) async -> AuthenticationAnswer

  /// Shows something that needs no answer, such as "swipe again".
  func show(_ message: AuthenticationMessage) async
}

/// A question to a person.
public struct AuthenticationQuestion: Sendable {
  /// What is asked for, in the words of whoever asks, such as "Password:".
  public let text: String
  /// Whether the answer is a secret, which is not to be shown while it is typed.
  public let isSecret: Bool
  /// How many answers to this question were wrong before.
  public let failureCount: Int
  /// What it is asked for.
  public let request: AuthenticationRequest

  /// States a question.
  public init(
    text: String, isSecret: Bool, failureCount: Int = 0, request: AuthenticationRequest
  ) {
    self.text = text
    self.isSecret = isSecret
    self.failureCount = failureCount
    self.request = request
  }
}

/// A person's answer.
public enum AuthenticationAnswer: Sendable {
  /// What was asked for, in UTF-8.
  case text(SecretBytes)
  /// The person does not want to.
  case cancelled
  /// The person wants to authenticate in another way.
  case fallback
}

/// Something that a person is told while being authenticated.
public enum AuthenticationMessage: Sendable, Hashable {
  /// A hint, such as what to do with the finger.
  case hint(String)
  /// What went wrong, while it goes on.
  case problem(String)
}
