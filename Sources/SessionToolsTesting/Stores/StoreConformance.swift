import SessionToolsBase

/// What every `SecretStore` promises, as checks that a test runs one by one.
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
/// With anything else, ``run(_:patience:on:)`` runs them all.
public enum StoreConformance {
  /// Every check of stores that take changes, those included that need what not every store has.
  public static let all: [Check] =
    valueChecks + nameChecks + changeChecks + listChecks + keyChecks + faceChecks + streamChecks
    + exclusiveAccessChecks + cancellationChecks + concurrencyChecks + reopeningChecks
    + lockingChecks + errorChecks + traitChecks + migrationChecks

  /// Every check of stores that are only read, such as what another program keeps.
  public static let readOnly: [Check] = readOnlyChecks

  /// The checks that a store has to pass: ``all`` whose requirements it meets, or ``readOnly``
  /// when its traits say that it takes no changes.
  ///
  /// The store is only looked at: neither used nor tidied up after.
  public static func checks(for subject: StoreUnderTest) -> [Check] {
    (subject.store.traits.isReadOnly ? readOnly : all).filter { $0.applies(to: subject) }
  }

  /// Runs several checks, one after the other, and all of them also when some fail.
  ///
  /// - Parameters:
  ///   - checks: The checks; by default all that apply.
  ///   - patience: How long a check waits for what has to come, before it fails.
  ///   - makeStore: Gives a fresh, empty store each time.
  /// - Throws: ``ConformanceFailures`` when checks fail, or what `makeStore` throws.
  public static func run(
    _ checks: [Check]? = nil, patience: Duration = .seconds(300),
    on makeStore: @escaping @Sendable () async throws -> StoreUnderTest
  ) async throws {
    var failures: [ConformanceFailure] = []
    let chosen: [Check]
    if let checks {
      chosen = checks
    } else {
      let subject = try await makeStore()
      chosen = self.checks(for: subject)
      try await subject.cleanUp?()
    }
    for check in chosen {
      do {
        try await check.run(patience: patience, on: makeStore)
      } catch let failure as ConformanceFailure {
        failures.append(failure)
      }
    }
    if !failures.isEmpty { throw ConformanceFailures(failures: failures) }
  }
}

/// The checks that failed, of several that were run.
public struct ConformanceFailures: Error, Sendable, CustomStringConvertible {
  /// What each of them says.
  public let failures: [ConformanceFailure]

  /// One line for each.
  public var description: String {
    failures.map(\.description).joined(separator: "\n")
  }
}
