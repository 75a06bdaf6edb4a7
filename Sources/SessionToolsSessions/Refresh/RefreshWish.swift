import SecretStores
/// The purpose of a refresh.
enum RefreshWish: Hashable {
  /// An item that does not expire soon, instead of this one.
  case ifNeeded(ItemVersion)
  /// A valid item other than this one; any new item, if no item could be read.
  case otherThan(ItemVersion?)
  /// The effect of a handler of iOS-SessionTools, whatever it is.
  case always

  /// Whether any valid item will do.
  var isForValidItem: Bool { if case .ifNeeded = self { true } else { false } }

  /// Returns whether a stored item must be refreshed.
  func asksToRefresh<Item>(_ stored: ItemSnapshot<Item>, _ expiry: Expiry<Item>) -> Bool {
    switch self {
    case .ifNeeded(let seen):
      // An item issued while this refresh waited suffices, however short it lasts.
      stored.version == seen ? expiry.isDue(stored.item) : !expiry.isValid(stored.item)
    case .otherThan(let version):
      // A failure may have stored another item that is not valid, or the new one has expired.
      version == stored.version || !expiry.isValid(stored.item)
    case .always: true
    }
  }

  /// The ending of a refresh that was not made, because the stored item is what was asked for.
  var endingWithoutRefresh: RefreshEnding { isForValidItem ? .wasValidAlready : .isNew(nil, nil) }
}
