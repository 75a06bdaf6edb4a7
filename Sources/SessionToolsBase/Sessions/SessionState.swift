/// Whether someone is signed in, with the third answer that a `Bool` does not have.
public enum SessionState<Item> {
  /// There is an item, and this is it.
  case signedIn(Item)
  /// The store is open and there is no item, for this reason as far as it is known.
  case signedOut(SignOutReason)
  /// Nobody can tell: the store is locked, out of reach or damaged, or the item cannot be
  /// decoded. Nothing was removed because of it.
  ///
  /// With the containers of this package the error is a ``StoreError``.
  case unavailable(any Error)

  /// The item when someone is signed in.
  public var item: Item? {
    guard case .signedIn(let item) = self else { return nil }
    return item
  }
}

extension SessionState: Sendable where Item: Sendable {}

extension SessionState {
  /// Whether a listener that knows this state learns nothing from another.
  ///
  /// Items that cannot be compared are taken for different, and so are errors but those of a store
  /// that are of one kind.
  func tellsTheSame(as other: SessionState) -> Bool {
    switch (self, other) {
    case (.signedOut, .signedOut): true
    case (.signedIn(let item), .signedIn(let other)):
      if let item = item as? any Equatable { item.isEqual(to: other) } else { false }
    case (.unavailable(let error as StoreError), .unavailable(let other as StoreError)):
      error.code == other.code
    default: false
    }
  }
}

extension Equatable {
  fileprivate func isEqual(to other: Any) -> Bool {
    other as? Self == self
  }
}
