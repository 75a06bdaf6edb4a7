import Foundation
import SessionAuthentication
import SessionToolsBase

/// The cost of the layers above a store, measured over a store in memory.
///
/// Their limit is to encode or decode the item and nothing else.
struct SessionPaths {
  let byteCount: Int
  private let item: Item
  private let json: Data

  init(byteCount: Int) throws {
    self.byteCount = byteCount
    item = try Item(byteCount: byteCount)
    json = try JSONEncoder().encode(item)
  }

  func all() throws -> [HotPath] {
    let container = try StoreContainer<Item>(MemoryStore(), service: "com.example.benchmark")
    let erased = AnySessionContainer(container)
    let session = Session(container: erased, storageIdentifier: "session")
    let user = UserSession(
      container: erased, storageIdentifier: "user",
      notificationPoster: NotificationCenter.default)
    let gate = AuthenticationGate(token: PermanentToken()) { _ in PermanentToken() }
    let guarded = GuardedContainer(container, behind: gate)
    let item = item
    return try [
      path("StoreContainer") {
        try container.storeItem(item, forIdentifier: "item")
      } load: {
        consume(try container.item(forIdentifier: "item"))
      },
      path("AnySessionContainer") {
        try erased.storeItem(item, forIdentifier: "item")
      } load: {
        consume(try erased.loadItem(forIdentifier: "item"))
      },
      path("Session") {
        try session.updateItem(item)
      } load: {
        consume(try session.item())
      },
      path("UserSession with notifications") {
        try user.updateItem(item)
      } load: {
        consume(try user.item())
      },
      path("GuardedContainer, open gate") {
        try guarded.storeItem(item, forIdentifier: "item")
      } load: {
        consume(try guarded.loadItem(forIdentifier: "item"))
      },
    ].flatMap(\.self)
  }

  private func path(
    _ name: String, store: @escaping () throws -> Void, load: @escaping () throws -> Void
  ) throws -> [HotPath] {
    let (item, json) = (item, json)
    // Loading needs an item in the store.
    try store()
    return [
      HotPath(name: "\(name), store", byteCount: byteCount, ours: store) {
        consume(try JSONEncoder().encode(item))
      },
      HotPath(name: "\(name), load", byteCount: byteCount, ours: load) {
        consume(try JSONDecoder().decode(Item.self, from: json))
      },
    ]
  }
}
