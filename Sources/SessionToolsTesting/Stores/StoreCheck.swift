import SessionToolsBase

extension StoreConformance {
  /// A check of one promise of every store.
  public struct Check: Identifiable, Hashable, Sendable, CustomStringConvertible {
    /// The name of the check, a sentence that could be false.
    public let name: String
    /// The promise of `SecretStore`, as in its documentation.
    public let promise: String
    /// The abilities that a store needs for the check.
    public let requirements: Set<Requirement>
    /// Whether the check is for read-only stores.
    public let isReadOnly: Bool
    private let kinds: [CallKind?]
    private let body: @Sendable (StoreTrial) async throws -> Void

    /// The name, which no other check of stores has.
    public var id: String { name }
    /// The name.
    public var description: String { name }

    init(
      _ name: String, _ promise: String, _ requirements: Set<Requirement> = [],
      isReadOnly: Bool = false, kinds: [CallKind?] = CallKind.allCases,
      trial: @escaping @Sendable (StoreTrial) async throws -> Void
    ) {
      self.name = name
      self.promise = promise
      self.requirements = requirements
      self.isReadOnly = isReadOnly
      self.kinds = kinds
      body = trial
    }

    /// Creates a check of one fresh store.
    init(
      _ name: String, _ promise: String, _ requirements: Set<Requirement> = [],
      isReadOnly: Bool = false, kinds: [CallKind?] = CallKind.allCases,
      _ body: @escaping @Sendable (StoreProbe) async throws -> Void
    ) {
      self.init(name, promise, requirements, isReadOnly: isReadOnly, kinds: kinds) { trial in
        try await body(try await trial.open())
      }
    }

    /// Returns whether the check can be run with a store.
    public func applies(to subject: StoreUnderTest) -> Bool {
      subject.store.traits.isReadOnly == isReadOnly
        && requirements.allSatisfy { $0.isMet(by: subject) }
    }

    /// Runs the check, with blocking and with `async` calls if both can break the promise.
    ///
    /// Blocking calls are made on threads of their own. A store that never answers is waited for:
    /// give the test a time limit.
    ///
    /// - Parameters:
    ///   - patience: How long to wait for something that must happen, such as an event, before the
    ///     promise counts as broken: longer than a busy machine needs. A check never waits so long
    ///     for a store that keeps its promises.
    ///   - makeStore: Returns a fresh, empty store each time; a read-only store has at least two
    ///     items.
    /// - Throws: ``ConformanceFailure``, also if the store does not meet the requirements, or if
    ///   `makeStore` throws.
    public func run(
      patience: Duration = .seconds(300),
      on makeStore: @escaping @Sendable () async throws -> StoreUnderTest
    ) async throws {
      for kind in kinds {
        let trial = StoreTrial(
          kind: kind ?? .async, patience: patience, on: makeStore, check: inspect)
        do {
          try await body(trial)
        } catch {
          // The finding is more important than an error of the cleanup.
          try? await trial.cleanUp()
          throw Finding.failure(error, of: name, promise: promise, kind: kind)
        }
        try await trial.cleanUp()
      }
    }

    private func inspect(_ subject: StoreUnderTest) throws {
      if applies(to: subject) { return }
      let unmet = requirements.filter { !$0.isMet(by: subject) }.map(\.rawValue).sorted()
      throw Finding(
        expected: isReadOnly ? "a read-only store" : "a store that the check applies to",
        seen: unmet.isEmpty
          ? "one whose traits state that isReadOnly is \(!isReadOnly)"
          : "one without \(unmet.joined(separator: ", "))")
    }

    /// Returns whether both are the same check.
    public static func == (left: Check, right: Check) -> Bool { left.name == right.name }

    /// Hashes the name.
    public func hash(into hasher: inout Hasher) { hasher.combine(name) }
  }
}

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
