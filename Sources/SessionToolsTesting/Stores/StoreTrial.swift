import SessionToolsBase

/// One run of a check, which may open and release fresh stores.
final class StoreTrial: Sendable {
  /// The kind of calls to make.
  let kind: CallKind
  let patience: Duration
  private let makeStore: @Sendable () async throws -> StoreUnderTest
  private let cleanUps = Shared<[@Sendable () async throws -> Void]>([])
  private let check: @Sendable (StoreUnderTest) throws -> Void

  init(
    kind: CallKind, patience: Duration,
    on makeStore: @escaping @Sendable () async throws -> StoreUnderTest,
    check: @escaping @Sendable (StoreUnderTest) throws -> Void
  ) {
    self.kind = kind
    self.patience = patience
    self.makeStore = makeStore
    self.check = check
  }

  /// Opens a fresh store; the trial keeps no reference to it.
  func open() async throws -> StoreProbe {
    let subject = try await makeStore()
    if let cleanUp = subject.cleanUp { cleanUps.update { $0.append(cleanUp) } }
    try check(subject)
    return StoreProbe(subject: subject, store: subject.store, kind: kind, patience: patience)
  }

  /// Removes what was made for the stores.
  func cleanUp() async throws {
    for cleanUp in cleanUps.current { try await cleanUp() }
  }
}
