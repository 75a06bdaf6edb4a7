import SecretStores
/// Whether a user is signed in, with a third case that a `Bool` does not have.
public enum SessionState<Item> {
  /// A user is signed in, with this item.
  case signedIn(Item)
  /// The store is open and there is no item, for this reason if it is known.
  case signedOut(SignOutReason<any Error>)
  /// The state is unknown: the store is locked, unreachable or damaged, or the item cannot be
  /// decoded.
  ///
  /// Nothing was removed because of it. With the containers of this package the error is a
  /// `StoreError`.
  case unavailable(any Error)

  /// The item if a user is signed in.
  public var item: Item? {
    guard case .signedIn(let item) = self else { return nil }
    return item
  }
}

extension SessionState: Sendable where Item: Sendable {}

extension SessionState {
  var isUnavailable: Bool { if case .unavailable = self { true } else { false } }

  /// Returns whether another state is no news to a listener that knows this one.
  ///
  /// Items that cannot be compared count as different, and so do errors, except store errors with
  /// the same code.
  func reportsTheSame(as other: SessionState) -> Bool {
    switch (self, other) {
    case (.signedOut(let reason), .signedOut(let other)): reason.isRejection == other.isRejection
    case (.signedIn(let item), .signedIn(let other)):
      if let item = item as? any Equatable { item.isEqual(to: other) } else { false }
    case (.unavailable(let error as StoreError), .unavailable(let other as StoreError)):
      error.code == other.code
    default: false
    }
  }
}

extension SessionState: CustomStringConvertible, CustomReflectable {
  /// The state without the item, so that a log that prints it has no token in it.
  public var description: String {
    switch self {
    case .signedIn: "signed in"
    case .signedOut(let reason): "signed out: \(reason)"
    case .unavailable(let error): "unavailable: \(SessionEvent.reason(error))"
    }
  }

  /// The same for `dump(_:)` and debuggers: no item.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension Equatable {
  fileprivate func isEqual(to other: Any) -> Bool {
    other as? Self == self
  }
}
