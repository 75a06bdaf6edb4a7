/// The searches of a locked store, each with an item that stands for what it would have found.
///
/// The names of a sealed store's items are sealed, too. A client that gets such an item unlocks it,
/// and gets what there is.
struct LockedSearches {
  /// The most that are remembered; the oldest are forgotten.
  private static let maximumCount = 1024

  private var searches: [String: (client: String, attributes: Attributes)] = [:]
  private var order: [String] = []
  private var lastNumber = 0

  /// Returns the item that stands for what a search would have found.
  mutating func add(_ attributes: Attributes, by client: String) -> ItemID {
    lastNumber += 1
    // No item that is stored has such a name.
    let name = "locked_\(lastNumber)"
    searches[name] = (client, attributes)
    order.append(name)
    if order.count > Self.maximumCount { searches[order.removeFirst()] = nil }
    return ItemID(collection: SecretService.defaultCollection, name: name)
  }

  func attributes(of id: ItemID) -> Attributes? {
    id.collection == SecretService.defaultCollection ? searches[id.name]?.attributes : nil
  }

  mutating func removeAll(of client: String) {
    searches = searches.filter { $0.value.client != client }
    order.removeAll { searches[$0] == nil }
  }

  func forEach(_ body: (ItemID, Attributes) -> Void) {
    for name in order {
      guard let search = searches[name] else { continue }
      body(ItemID(collection: SecretService.defaultCollection, name: name), search.attributes)
    }
  }
}
