import SessionToolsBase

extension ContainerConformance {
  /// An ability that a container needs for a check.
  public enum Requirement: String, CaseIterable, Hashable, Sendable {
    /// The container is an `ObservableSessionContainer`.
    case observable
    /// The container is a `StoreBackedContainer`.
    case storeBacked
    /// The test provides ``ContainerUnderTest/reopen``.
    case reopening
    /// The test provides ``ContainerUnderTest/lock`` and ``ContainerUnderTest/unlock``.
    case locking
    /// The test provides ``ContainerUnderTest/damage``.
    case damaging

    /// Returns whether a container meets the requirement.
    func isMet<Item>(by subject: ContainerUnderTest<Item>) -> Bool {
      switch self {
      case .observable: subject.container is any ObservableSessionContainer<Item>
      case .storeBacked: isStoreBacked(subject.container)
      case .reopening: subject.reopen != nil
      case .locking: subject.lock != nil && subject.unlock != nil
      case .damaging: subject.damage != nil
      }
    }

    /// Takes any value, because a `StoreBackedContainer` requires more of its item's type.
    private func isStoreBacked(_ container: Any) -> Bool { container is any StoreBackedContainer }
  }
}
