import SessionToolsBase

/// Lets those through who want a guarded item, or not.
struct GateDoor: Sendable {
  let gate: AuthenticationGate
  let policy: GuardPolicy

  /// - Throws: `locked`.
  func refuseIfLocked() throws(StoreError) {
    if gate.requiresAuthentication { throw locked(nil) }
  }

  /// - Throws: `locked`, `timedOut` or `cancelled`.
  func waitUntilOpen() async throws(StoreError) {
    guard gate.requiresAuthentication else { return }
    if UnattendedRead.isUnderWay { throw locked(nil) }
    do throws(AuthenticationError) {
      switch policy.whenLocked {
      case .refuse: throw .nobodyAsked
      case .wait(let timeout): try await gate.waitUntilAuthenticated(timeout: timeout)
      case .authenticate: try await gate.authenticate()
      }
    } catch {
      throw storeError(error)
    }
  }

  /// An element each time that the gate opened or locked, from now on.
  var openings: AsyncStream<Void> {
    let states = gate.states
    let wasLocked = gate.requiresAuthentication
    let (stream, continuation) = AsyncStream.makeStream(
      of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let listening = Task { [weak gate] in
      var wasLocked = wasLocked
      for await _ in states {
        guard let isLocked = gate?.requiresAuthentication else { break }
        if isLocked != wasLocked { continuation.yield() }
        wasLocked = isLocked
      }
      continuation.finish()
    }
    continuation.onTermination = { _ in listening.cancel() }
    return stream
  }

  private func storeError(_ error: AuthenticationError) -> StoreError {
    if Task.isCancelled {
      return StoreError(
        StoreError.cancelled, store: Self.name, reason: "the task was cancelled",
        underlying: error)
    }
    if error.code == AuthenticationError.timedOut {
      return StoreError(
        StoreError.timedOut, store: Self.name, reason: error.reason, underlying: error)
    }
    return locked(error)
  }

  private func locked(_ error: (any Error)?) -> StoreError {
    StoreError(
      StoreError.locked, store: Self.name, reason: "nobody is authenticated",
      remedy: "Authenticate at the gate, then try again", underlying: error)
  }

  private static let name = "guarded store"
}

extension AuthenticationError {
  fileprivate static var nobodyAsked: AuthenticationError {
    AuthenticationError(notInteractive, "nobody is asked here")
  }
}
