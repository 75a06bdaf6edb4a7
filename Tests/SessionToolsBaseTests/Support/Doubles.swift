import Foundation
import SessionToolsBase

struct User: Codable, Equatable, Identifiable, Sendable {
  var id: String
  var token = "t0"
}

/// A store that refuses everything, as a locked or broken one does.
struct RefusingStore: BlockingSecretStore {
  let error: StoreError
  let executor = BlockingExecutor(maximumThreadCount: 1)

  init(_ code: StoreError.Code) {
    error = StoreError(code, store: "test", reason: "it refuses")
  }

  var traits: StoreTraits {
    StoreTraits(
      isAtomic: true, isDurable: false, seesOtherProcesses: false, excludesOtherProcesses: false,
      maximumValueByteCount: 0)
  }

  func protection() throws(StoreError) -> StoreProtection { throw error }

  func value(for name: ItemName) throws(StoreError) -> SecretBytes? { throw error }
  func apply(_ changes: [StoreChange]) throws(StoreError) { throw error }
  func names(in namespace: StoreNamespace?) throws(StoreError) -> [ItemName] { throw error }
  func withExclusiveAccess<Result>(
    to name: ItemName, timeout: Duration, _ body: () throws -> Result
  ) throws -> Result { throw error }
  func withExclusiveAccess<Result>(
    to name: ItemName, timeout: Duration, _ body: () async throws -> Result
  ) async throws -> Result { throw error }
  func changes() -> AsyncStream<StoreEvent> { AsyncStream { $0.finish() } }
}

/// A container as in programs of 2019: a class, not synchronized, not Sendable, which returns `nil`
/// for an item that it cannot decode.
final class OldContainer<Item: Codable>: SessionContainer {
  var entries: [String: Data] = [:]
  /// Called while an item is stored, as by a container that notifies others.
  var onStore: (() -> Void)?

  func hasItem(forIdentifier identifier: String) -> Bool {
    entries[identifier] != nil
  }

  func item(forIdentifier identifier: String, jsonDecoder: JSONDecoder) throws -> Item? {
    guard let data = entries[identifier] else { return nil }
    return try? jsonDecoder.decode(Item.self, from: data)
  }

  func removeItem(forIdentifier identifier: String) throws {
    entries[identifier] = nil
  }

  func storeItem(
    _ item: Item, forIdentifier identifier: String, jsonEncoder: JSONEncoder
  ) throws {
    entries[identifier] = try jsonEncoder.encode(item)
    onStore?()
  }
}

/// A record of notifications, each with the object that posted it.
final class Recorder: NotificationPosting {
  let posts = Shared<[Post]>([])
  /// Called with each notification, before it is recorded.
  let onPost: @Sendable (UserSessionStateChange) -> Void

  struct Post: Sendable {
    let name: Notification.Name
    let change: UserSessionStateChange
    let object: ObjectIdentifier?
    let thread: ObjectIdentifier
  }

  init(onPost: @escaping @Sendable (UserSessionStateChange) -> Void = { _ in }) {
    self.onPost = onPost
  }

  func post(
    name aName: NSNotification.Name, object anObject: Any?, userInfo aUserInfo: [AnyHashable: Any]?
  ) {
    let notification = Notification(name: aName, object: anObject, userInfo: aUserInfo)
    guard let change = notification.userSessionState else { return }
    onPost(change)
    let object = (anObject as AnyObject?).map { ObjectIdentifier($0) }
    posts.update {
      $0.append(
        Post(
          name: aName, change: change, object: object, thread: ObjectIdentifier(Thread.current)))
    }
  }

  var changes: [String] { posts.current.map { $0.change.word } }
}

extension UserSessionStateChange {
  var word: String {
    switch self {
    case .loggedIn: "loggedIn"
    case .loggedOut(let error): error == nil ? "loggedOut" : "loggedOut with error"
    case .updated: "updated"
    }
  }
}

extension SessionState {
  var word: String {
    switch self {
    case .signedIn: "signedIn"
    case .signedOut: "signedOut"
    case .unavailable(let error): "unavailable: \((error as? StoreError)?.code.description ?? "?")"
    }
  }
}

struct TestError: Error, Equatable {
  var text = "test"
}
