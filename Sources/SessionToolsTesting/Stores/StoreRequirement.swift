import SessionToolsBase

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
    /// The test provides ``StoreUnderTest/reopen``.
    case reopening
    /// The test provides ``StoreUnderTest/lock`` and ``StoreUnderTest/unlock``.
    case locking

    private static let maximumStoredByteCount = 64 << 20

    /// Returns whether a store meets the requirement.
    func isMet(by subject: StoreUnderTest) -> Bool {
      let traits = subject.store.traits
      return switch self {
      case .atomicity: traits.isAtomic
      case .seesOtherProcesses: traits.seesOtherProcesses
      case .excludesOtherProcesses: traits.excludesOtherProcesses
      case .limitedValues: traits.maximumValueByteCount <= Self.maximumStoredByteCount
      case .reopening: subject.reopen != nil
      case .locking: subject.lock != nil && subject.unlock != nil
      }
    }
  }
}
