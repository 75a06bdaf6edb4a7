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

extension StoreConformance {
  /// One of the two kinds of calls that every store and every newer container has.
  public enum CallKind: String, CaseIterable, Hashable, Sendable, CustomStringConvertible {
    /// Calls that block their thread.
    case blocking
    /// Calls that suspend their task.
    case async

    /// The name of the kind.
    public var description: String { rawValue }

    /// The other kind.
    var other: CallKind { self == .blocking ? .async : .blocking }
  }
}

/// The short name that the checks of stores and containers use.
typealias CallKind = StoreConformance.CallKind

extension StoreConformance {
  /// An ability that a store needs for a check.
  public enum Requirement: String, CaseIterable, Hashable, Sendable {
    /// A list of changes is applied all or nothing: `StoreTraits.isAtomic`.
    case atomicity
    /// Changes by other processes are seen: `StoreTraits.seesOtherProcesses`.
    case seesOtherProcesses
    /// Exclusive access holds against other processes: `StoreTraits.excludesOtherProcesses`.
    case excludesOtherProcesses
    /// The largest value is one that a test can store: 64 MiB or less.
    case limitedValues
    /// The longest list of changes that the traits promise has 10,000 changes or less.
    case limitedLists
    /// The test provides ``StoreUnderTest/reopen``.
    case reopening
    /// The test provides ``StoreUnderTest/lock`` and ``StoreUnderTest/unlock``.
    case locking

    private static let maximumStoredByteCount = 64 << 20
    private static let maximumChangeCount = 10_000

    /// Returns whether a store meets the requirement.
    func isMet(by subject: StoreUnderTest) -> Bool {
      let traits = subject.store.traits
      return switch self {
      case .atomicity: traits.isAtomic
      case .seesOtherProcesses: traits.seesOtherProcesses
      case .excludesOtherProcesses: traits.excludesOtherProcesses
      case .limitedValues: traits.maximumValueByteCount <= Self.maximumStoredByteCount
      case .limitedLists: traits.maximumChangeCount <= Self.maximumChangeCount
      case .reopening: subject.reopen != nil
      case .locking: subject.lock != nil && subject.unlock != nil
      }
    }
  }
}
