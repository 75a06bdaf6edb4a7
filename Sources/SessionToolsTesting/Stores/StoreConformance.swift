import SessionToolsBase

/// The promises of every `SecretStore`, as checks that a test runs one by one.
///
/// With Swift Testing, each check is a test of its own:
///
/// ```swift
/// @Test(arguments: try StoreConformance.checks(for: makeStore()))
/// func `my store keeps what every store promises`(_ check: StoreConformance.Check) async throws {
///   try await check.run(on: makeStore)
/// }
/// ```
///
/// With any other test library, ``run(_:patience:on:)`` runs all of them.
public enum StoreConformance {
  /// Every check of stores that take changes, including those for abilities that not every store
  /// has.
  public static let all: [Check] =
    valueChecks + nameChecks + changeChecks + listChecks + listingChecks + callKindChecks
    + streamChecks
    + exclusiveAccessChecks + cancellationChecks + concurrencyChecks + reopeningChecks
    + lockingChecks + errorChecks + traitChecks + migrationChecks

  /// Every check of read-only stores, such as the items of another program.
  public static let readOnly: [Check] = readOnlyChecks

  /// Returns the checks that a store must pass: those of ``all`` whose requirements it meets, or of
  /// ``readOnly`` if its traits state that it takes no changes.
  ///
  /// The store is only inspected: it is neither used nor cleaned up.
  public static func checks(for subject: StoreUnderTest) -> [Check] {
    (subject.store.traits.isReadOnly ? readOnly : all).filter { $0.applies(to: subject) }
  }

  /// Runs several checks, one after the other; all of them are run even if some fail.
  ///
  /// - Parameters:
  ///   - checks: The checks; by default all that apply.
  ///   - patience: How long a check waits for an expected event before it fails.
  ///   - makeStore: Returns a fresh, empty store each time.
  /// - Returns: The checks that could not be run, each for want of one of its
  ///   ``Check/requirements``, such as a way to lock the store: of those promises nothing is known.
  /// - Throws: ``ConformanceFailure/List`` when checks fail, or what `makeStore` throws.
  @discardableResult public static func run(
    _ checks: [Check]? = nil, patience: Duration = .seconds(300),
    on makeStore: @escaping @Sendable () async throws -> StoreUnderTest
  ) async throws -> [Check] {
    var failures: [ConformanceFailure] = []
    var (chosen, left) = (checks ?? [], [Check]())
    if checks == nil {
      let subject = try await makeStore()
      let every = subject.store.traits.isReadOnly ? readOnly : all
      chosen = every.filter { $0.applies(to: subject) }
      left = every.filter { !$0.applies(to: subject) }
      try await subject.cleanUp?()
    }
    for check in chosen {
      do {
        try await check.run(patience: patience, on: makeStore)
      } catch let failure as ConformanceFailure {
        failures.append(failure)
      }
    }
    if !failures.isEmpty { throw ConformanceFailure.List(failures: failures) }
    return left
  }
}
