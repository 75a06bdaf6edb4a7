/// The commands of the protocol on a store of some items, the same as in `C/peer.c`.
struct Workload: ~Copyable {
  private let files: ItemFiles
  private let itemCount: Int

  /// Opens the store in a directory, and creates it first if necessary.
  init(_ directory: String, _ algorithm: Algorithm, itemCount: Int) throws(Failure) {
    files = try ItemFiles(directory, algorithm)
    self.itemCount = itemCount
  }

  /// Puts all items.
  func prepare() throws(Failure) {
    try files.putAll(Item.all(0..<itemCount))
  }

  /// Reads all items back.
  func check() throws(Failure) {
    for item in Item.all(0..<itemCount) { try verify(item) }
  }

  /// Times `count` calls of an operation.
  func measure(_ operation: Operation, count: Int) throws(Failure) -> Measurement {
    // One-time work, such as loading a library's code, is done here.
    let first = Item(0)
    try verify(first)
    if operation == .put { try files.put(first) }

    let new = itemCount..<itemCount + count
    let time =
      switch operation {
      case .put: try put(Item.all(new))
      case .get: try getRandom(count)
      case .list: try list(count)
      case .listAgain: try listAgain(count)
      case .remove: try remove(Item.all(new))
      }
    return Measurement(operation, count: count, time: time)
  }

  private func verify(_ item: Item) throws(Failure) {
    guard try files.get(item.identifier) == item.value else {
      throw .lost(identifier: item.identifier)
    }
  }

  private func put(_ items: [Item]) throws(Failure) -> Duration {
    let begin = ContinuousClock.now
    for item in items { try files.put(item) }
    return begin.duration(to: .now)
  }

  private func getRandom(_ count: Int) throws(Failure) -> Duration {
    let items = Item.all(0..<itemCount)
    var random = Xorshift()
    let begin = ContinuousClock.now
    for _ in 0..<count { try verify(items[random.next(below: itemCount)]) }
    return begin.duration(to: .now)
  }

  private func list(_ count: Int) throws(Failure) -> Duration {
    let begin = ContinuousClock.now
    for _ in 0..<count {
      let listedCount = try files.identifiers().count { $0.hasPrefix("item-") }
      guard listedCount >= itemCount else {
        throw .failed("list", reason: "items are missing from the list")
      }
    }
    return begin.duration(to: .now)
  }

  private func listAgain(_ count: Int) throws(Failure) -> Duration {
    _ = try list(1)
    return try list(count)
  }

  private func remove(_ items: [Item]) throws(Failure) -> Duration {
    let begin = ContinuousClock.now
    for item in items { try files.remove(item.identifier) }
    return begin.duration(to: .now)
  }
}
