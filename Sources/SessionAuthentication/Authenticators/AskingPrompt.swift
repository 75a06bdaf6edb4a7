package import SessionToolsBase

extension AuthenticationPrompt {
  /// Asks a question within its request's time limit.
  ///
  /// - Throws: `userCancel`, `userFallback`, `timedOut`, `appCancel`.
  package func text(
    for question: AuthenticationQuestion
  ) async throws(AuthenticationError) -> SecretBytes {
    let timeout = question.request.timeout
    let given = await withTaskGroup(of: AuthenticationAnswer?.self) { group in
      group.addTask { await self.answer(to: question) }
      group.addTask {
        try? await SystemSessionClock().sleep(for: timeout)
        return nil
      }
      defer { group.cancelAll() }
      return await group.next() ?? nil
    }
    if Task.isCancelled { throw .cancelledByApp }
    switch given {
    case .text(let text): return text
    case .cancelled: throw .cancelledByPerson
    case .fallback: throw .personWantsAnotherWay
    case nil:
      throw AuthenticationError(
        .timedOut, "the question was not answered within \(timeout)")
    }
  }
}
