public import SessionToolsBase

/// A request to authenticate a person.
public struct AuthenticationRequest: Sendable {
  /// The purpose, as a phrase that completes "the program wants to": such as "show your messages".
  public var reason: String
  /// The title of the choice to authenticate in another way; `nil` when there is no other way.
  ///
  /// Choosing it ends the evaluation with `userFallback`.
  public var fallbackTitle: String?
  /// The title of the choice to refuse; `nil` for the usual title.
  public var cancelTitle: String?
  /// How long the person has: 2 min by default.
  public var timeout: Duration

  /// Makes a request with a purpose.
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

/// A way to show questions to a person: a dialog of the program, or a terminal.
public protocol AuthenticationPrompt: Sendable {
  /// Asks one question, and waits for the answer until its task is cancelled.
  ///
  /// - Returns: The requested text, in UTF-8.
  /// - Throws: `userCancel` when the person refused; `userFallback` when the person wants to
  ///   authenticate in another way; `notInteractive` when the question cannot be shown. The error
  ///   of a cancelled task is not used.
  func answer(to question: AuthenticationQuestion) async throws(AuthenticationError) -> SecretBytes

  /// Shows something that needs no answer, such as "swipe again".
  func show(_ message: AuthenticationMessage) async
}

/// A question to a person.
public struct AuthenticationQuestion: Sendable {
  /// The text of the question, in the words of its source, such as "Password:".
  public let text: String
  /// Whether the answer is a secret, which must not be shown while it is typed.
  public let isSecret: Bool
  /// How many answers to this question were wrong before.
  public let failureCount: Int
  /// The request that led to the question.
  public let request: AuthenticationRequest

  /// Makes a question.
  public init(
    text: String, isSecret: Bool, failureCount: Int = 0, request: AuthenticationRequest
  ) {
    self.text = text
    self.isSecret = isSecret
    self.failureCount = failureCount
    self.request = request
  }
}

/// A message to a person during the authentication.
public enum AuthenticationMessage: Sendable, Hashable {
  /// A hint, such as what to do with the finger.
  case hint(String)
  /// A problem that does not end the authentication.
  case problem(String)
}

extension AuthenticationPrompt {
  /// Asks a question within its request's time limit.
  ///
  /// - Throws: `timedOut`, `appCancel`; the errors of ``answer(to:)``.
  package func text(
    for question: AuthenticationQuestion
  ) async throws(AuthenticationError) -> SecretBytes {
    let timeout = question.request.timeout
    let given = await withTaskGroup(of: Result<SecretBytes, AuthenticationError>?.self) { group in
      group.addTask { await self.result(of: question) }
      group.addTask {
        try? await SystemSessionClock().sleep(for: timeout)
        return nil
      }
      defer { group.cancelAll() }
      return await group.next() ?? nil
    }
    if Task.isCancelled { throw .cancelledByApp }
    guard let given else {
      throw AuthenticationError(.timedOut, "the question was not answered within \(timeout)")
    }
    return try given.get()
  }

  /// Asks a question, without a time limit.
  package func result(
    of question: AuthenticationQuestion
  ) async -> Result<SecretBytes, AuthenticationError> {
    do throws(AuthenticationError) {
      return .success(try await answer(to: question))
    } catch {
      return .failure(error)
    }
  }
}
