package import SessionToolsBase

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
