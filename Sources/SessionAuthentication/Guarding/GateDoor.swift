import SessionToolsBase

/// The gate in front of guarded items, with the rules for their callers.
struct GateDoor: Sendable {
  let gate: AuthenticationGate
  let whenLocked: GuardedStore.WhenLocked
  let guardsChanges: Bool

  /// Throws if the gate is locked.
  ///
  /// - Throws: `locked`.
  func refuseIfLocked() throws(StoreError) {
    if gate.requiresAuthentication { throw locked(nil) }
  }

  /// Waits or asks as ``whenLocked`` says, and returns when the gate is open.
  ///
  /// - Throws: `locked`, `timedOut` or `cancelled`.
  func waitUntilOpen() async throws(StoreError) {
    guard gate.requiresAuthentication else { return }
    if UnattendedRead.isUnderWay { throw locked(nil) }
    do throws(AuthenticationError) {
      switch whenLocked {
      case .refuse: throw .nobodyAsked
      case .wait(let timeout): try await gate.waitUntilAuthenticated(timeout: timeout)
      case .authenticate: try await gate.authenticate()
      }
    } catch {
      throw storeError(error)
    }
  }

  /// An element each time the gate opens or locks, from now on.
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
        .cancelled, store: Self.name, reason: "the task was cancelled",
        underlying: error)
    }
    if error.code == .timedOut {
      return StoreError(
        .timedOut, store: Self.name, reason: error.reason, underlying: error, isTransient: false)
    }
    return locked(error)
  }

  private func locked(_ error: (any Error)?) -> StoreError {
    StoreError(
      .locked, store: Self.name, reason: "the gate is locked",
      remedy: "Authenticate at the gate, then try again", underlying: error)
  }

  private static let name = "guarded store"
}

extension AuthenticationError {
  fileprivate static var nobodyAsked: AuthenticationError {
    AuthenticationError(.notInteractive, "the guard does not ask the person")
  }
}
