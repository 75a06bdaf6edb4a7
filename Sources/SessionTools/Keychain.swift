import Foundation
public import SessionToolsBase

/// A keychain: texts, bytes and `Codable` values under names, sealed on the disk.
///
/// ```swift
/// let keychain = Keychain(service: "com.example.mail")
/// try keychain.set("s3cret", key: "token")
/// let token = try keychain.get("token")  // nil only if there is no such item
/// ```
///
/// Making a value opens nothing. The first use opens the keychain, and the first item that is set
/// makes it, with a key where ``KeychainProtection`` says. Keep the value, or copies of it, as long
/// as they are needed: each new one opens the keychain again. Where it is, and what the errors are,
/// is in ``KeychainStorageContainer``.
///
/// The members have KeychainAccess' names (<doc:ComingFromKeychainAccess>). Each method that reads
/// or changes items blocks its thread, and has an `async` twin of the same name, which Swift picks
/// in an `async` function; at the top level of `main.swift` it picks the blocking one, even after
/// `await`. What is there only for code from KeychainAccess blocks.
///
/// A text is stored as UTF-8, as `session-tools set` does it, and a `Codable` value as the JSON
/// that a container stores. A container of `String` or `Data` stores JSON as well, which is not
/// what the keychain stores for them: use one of the two for an item. The items of sessions and
/// containers of the same service, group and lifecycle are items of this keychain, too, and
/// `removeAll()` removes them.
public struct Keychain: Sendable {
  /// The keychain's names, the lifecycle of its items and its protection.
  public let config: KeychainContainerConfig
  /// The store that contains the items, for example to list, adopt or purge those of other
  /// installations.
  public let store: any SecretStore
  private let namespaceOrError: Result<StoreNamespace, StoreError>

  /// Names a keychain; opens and makes nothing yet.
  ///
  /// - Parameters:
  ///   - service: The service the items belong to, such as `com.example.mail`.
  ///   - accessGroup: The group of programs that share the keychain; by default the service has one
  ///     of its own.
  ///   - lifecycle: How long the items are meant to last.
  ///   - protection: The protection of a keychain that is made with this value.
  public init(
    service: String, accessGroup: String? = nil, lifecycle: KeychainLifecycle = .unmanaged,
    protection: KeychainProtection = .automatic
  ) {
    self.init(
      KeychainContainerConfig(
        keychainName: service, accessGroupName: accessGroup, lifecycle: lifecycle,
        protection: protection))
  }

  /// Names a keychain; opens and makes nothing yet.
  public init(_ config: KeychainContainerConfig) {
    self.config = config
    namespaceOrError = Result { () throws(StoreError) in try config.namespace() }
    store =
      config.protection.keepsItemsInService
      ? SecretServiceStore(options: config.secretServiceOptions) : KeychainStore(config)
  }

  /// The service the items belong to.
  public var service: String { config.serviceName }
  /// The group of programs that share the keychain, if any.
  public var accessGroup: String? { config.accessGroupName }

  /// Returns what protects the items at rest; opens the keychain, if there is one; blocks.
  ///
  /// - Throws: As reading an item.
  public func protection() throws(StoreError) -> StoreProtection { try store.protection() }

  /// Returns a stream of the items that change from now on, in any process.
  ///
  /// It keeps the keychain open until its task is cancelled. If there is no keychain yet, changes
  /// by others are reported only after this value, or a copy of it, has found or made it: read an
  /// item now and then. An invalid service name has no changes.
  public func changes() -> AsyncStream<StoreEvent> {
    let (stream, continuation) = AsyncStream.makeStream(of: StoreEvent.self)
    // Requested before the task starts, so that no change from now on is missed.
    let events = store.changes()
    let namespace = try? namespaceOrError.get()
    let reading = Task { [store] in
      defer { withExtendedLifetime(store) {} }
      for await event in events {
        guard case .changed(let names) = event else {
          continuation.yield(event)
          continue
        }
        let own = names.filter { $0.namespace == namespace }
        if !own.isEmpty { continuation.yield(.changed(own)) }
      }
      continuation.finish()
    }
    continuation.onTermination = { _ in reading.cancel() }
    return stream
  }

  /// Returns the namespace of the items.
  ///
  /// - Throws: `invalidName`.
  func namespace() throws(StoreError) -> StoreNamespace { try namespaceOrError.get() }
}

extension Keychain: CustomStringConvertible {
  /// The service and the group; no items, unlike KeychainAccess'.
  public var description: String {
    "keychain \(service)" + (accessGroup.map { " of the group \($0)" } ?? "")
  }
}
