import SessionToolsBase
import SessionToolsTesting

extension BrokenStore {
  private func locks(_ kind: CallKind) -> NameLocks<StoreKey> {
    switch defect {
    case .excludesOneKindOfCalls: kind == .async ? world.otherNames : world.names
    case .excludesOneObject: ownNames
    default: world.names
    }
  }

  private func locked(_ key: StoreKey) throws(StoreError) -> StoreKey {
    guard defect == .hasOneLock else { return key }
    return try StoreKey("the only one", in: "lock")
  }

  func waitForName(_ key: StoreKey) throws(StoreError) {
    try world.names.lock(key, timeout: .seconds(60))
    world.names.unlock(key)
  }

  private func refused(_ timeout: Duration) throws(StoreError) {
    if defect == .refusesZeroTimeouts, timeout <= .zero {
      throw error(StoreError.timedOut, "no time was given")
    }
  }

  /// Returns the error of a caller that does not get a name.
  private func refusal(_ error: StoreError) -> StoreError {
    switch defect {
    case .failsInsteadOfTimingOut where error.code == .timedOut:
      self.error(StoreError.io, error.reason)
    case .namesNoStore: self.error(error.code, error.reason)
    default: error
    }
  }

  func withExclusiveAccess<Result>(
    to key: StoreKey, timeout: Duration, _ body: () throws -> Result
  ) throws -> Result {
    if defect == .excludesNobody { return try body() }
    if defect == .letsItselfInAgain, Self.held.contains(key) { return try body() }
    try refused(timeout)
    let (locks, name) = (locks(.blocking), try locked(key))
    do {
      try locks.lock(name, timeout: defect == .neverWaits ? .zero : timeout)
    } catch {
      if defect == .runsAfterTheTimeout { return try body() }
      throw refusal(error)
    }
    var isFreed = true
    defer { if isFreed { locks.unlock(name) } }
    do {
      if defect == .runsTwice { _ = try body() }
      return try Self.$held.withValue(Self.held.union([key])) { try body() }
    } catch {
      if defect == .keepsItsLock { isFreed = false }
      throw error
    }
  }

  func withExclusiveAccess<Result>(
    to key: StoreKey, timeout: Duration, _ body: () async throws -> Result
  ) async throws -> Result {
    if defect == .excludesNobody { return try await body() }
    if defect == .letsItselfInAgain, Self.held.contains(key) { return try await body() }
    try refused(timeout)
    let (locks, name) = (locks(.async), try locked(key))
    let limit = defect == .neverWaits ? .zero : timeout
    do {
      if defect == .waitsWhenCancelled {
        // This task is never cancelled.
        try await Task.detached { try await locks.lock(name, timeout: limit) }.value
      } else {
        try await locks.lock(name, timeout: limit)
      }
    } catch let error as StoreError {
      if defect == .runsAfterTheTimeout, error.code == .timedOut {
        return try await body()
      }
      throw refusal(error)
    }
    var isFreed = true
    defer { if isFreed { locks.unlock(name) } }
    do {
      if defect == .runsTwice { _ = try await body() }
      return try await Self.$held.withValue(Self.held.union([key])) { try await body() }
    } catch {
      if defect == .keepsItsLock { isFreed = false }
      throw error
    }
  }
}
