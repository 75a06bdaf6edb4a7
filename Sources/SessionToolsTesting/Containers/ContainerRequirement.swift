import SessionToolsBase

/// What a container has to be able to do for a check to be made with it.
public enum ContainerRequirement: String, CaseIterable, Hashable, Sendable {
  /// It is an `ObservableSessionContainer`.
  case observable
  /// It is a `StoreBackedContainer`.
  case storeBacked
  /// There is ``ContainerUnderTest/reopen``.
  case reopening
  /// There are ``ContainerUnderTest/lock`` and ``ContainerUnderTest/unlock``.
  case locking
  /// There is ``ContainerUnderTest/damage``.
  case damaging

  /// Whether a container can do it.
  func isMet<Item>(by subject: ContainerUnderTest<Item>) -> Bool {
    switch self {
    case .observable: subject.container is any ObservableSessionContainer<Item>
    case .storeBacked: isStoreBacked(subject.container)
    case .reopening: subject.reopen != nil
    case .locking: subject.lock != nil && subject.unlock != nil
    case .damaging: subject.damage != nil
    }
  }

  /// Without the item's type, which such a container demands more of.
  private func isStoreBacked(_ container: Any) -> Bool { container is any StoreBackedContainer }
}
