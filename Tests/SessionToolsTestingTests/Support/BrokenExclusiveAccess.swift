import SessionToolsBase
import SessionToolsTesting

extension BrokenStore {
  private func locks(_ kind: CallKind) -> NameLocks<ItemName> {
    switch defect {
    case .excludesOneKindOfCalls: kind == .async ? world.otherNames : world.names
    case .excludesOneObject: ownNames
    default: world.names
    }
  }

  private func locked(_ name: ItemName) throws(StoreError) -> ItemName {
    guard defect == .hasOneLock else { return name }
    return try ItemName("the only one", in: "lock")
  }

  func waitForName(_ name: ItemName) throws(StoreError) {
    try world.names.lock(name, timeout: .seconds(60))
    world.names.unlock(name)
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
    to itemName: ItemName, timeout: Duration, _ body: () throws -> Result
  ) throws -> Result {
    if defect == .excludesNobody { return try body() }
    if defect == .letsItselfInAgain, Self.held.contains(itemName) { return try body() }
    try refused(timeout)
    let (locks, name) = (locks(.blocking), try locked(itemName))
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
      return try Self.$held.withValue(Self.held.union([itemName])) { try body() }
    } catch {
      if defect == .keepsItsLock { isFreed = false }
      throw error
    }
  }

  func withExclusiveAccess<Result>(
    to itemName: ItemName, timeout: Duration, _ body: () async throws -> Result
  ) async throws -> Result {
    if defect == .excludesNobody { return try await body() }
    if defect == .letsItselfInAgain, Self.held.contains(itemName) { return try await body() }
    try refused(timeout)
    let (locks, name) = (locks(.async), try locked(itemName))
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
      return try await Self.$held.withValue(Self.held.union([itemName])) { try await body() }
    } catch {
      if defect == .keepsItsLock { isFreed = false }
      throw error
    }
  }
}
