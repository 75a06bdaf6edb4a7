public import SessionToolsBase
import Synchronization

/// What another program keeps in the Secret Service, to be read and to be migrated.
///
/// Every change is refused: what the program does not expect, it may not understand. A name that
/// cannot be one here is not listed, and ``listing()`` says why.
public final class ForeignSecretServiceItems: AsyncSecretStore, ReadOnlySecretStore,
  MigratableStore
{
  /// Whose items these are.
  public let dialect: SecretServiceDialect
  private let store: SecretServiceStore
  /// Where the items were that were listed last.
  private let paths = Mutex<[StoreKey: [String]]>([:])

  /// Names a program's items; nothing is asked of the service.
  public convenience init(
    _ dialect: SecretServiceDialect, collection: SecretServiceCollection = .default,
    options: SecretServiceOptions = SecretServiceOptions()
  ) {
    self.init(dialect, SecretServiceStore(collection: collection, options: options))
  }

  package init(_ dialect: SecretServiceDialect, _ store: SecretServiceStore) {
    self.dialect = dialect
    self.store = store
  }

  /// Read only; protected as the collection is.
  public var traits: StoreTraits {
    let service = store.traits
    return StoreTraits(
      isAtomic: false, isDurable: service.isDurable, seesOtherProcesses: true,
      excludesOtherProcesses: false, largestValueByteCount: service.largestValueByteCount,
      protection: service.protection, atRest: service.atRest, isReadOnly: true)
  }

  /// The dialect and the collection; blocks.
  ///
  /// - Throws: As ``SecretServiceStore/identity()``.
  public func identity() throws(StoreError) -> String? {
    try store.identity().map { "\(dialect.name) in \($0)" }
  }

  /// Reads the value of an item.
  ///
  /// - Throws: As ``SecretServiceStore/asyncValue(for:)``.
  public func asyncValue(for key: StoreKey) async throws(StoreError) -> SecretBytes? {
    if let known = paths.withLock({ $0[key] }),
      let value = try await store.foreignValue(of: known, { try self.dialect.key($0) == key })
    {
      return value
    }
    // Not listed yet, or another item by now.
    _ = try await found()
    guard let known = paths.withLock({ $0[key] }) else { return nil }
    return try await store.foreignValue(of: known) { try self.dialect.key($0) == key }
  }

  /// The names of the items.
  ///
  /// - Throws: As ``SecretServiceStore/asyncKeys(in:)``; `invalidName` for an item whose name
  ///   cannot be one here.
  public func asyncKeys(in namespace: Namespace?) async throws(StoreError) -> [StoreKey] {
    let found = try await found()
    if let damage = found.damage { throw damage }
    return found.keys.filter { namespace == nil || $0.namespace == namespace }
  }

  /// The names of the items, and why one of them cannot be one here; blocks.
  ///
  /// - Throws: As ``SecretServiceStore/asyncKeys(in:)``.
  public func listing() throws(StoreError) -> StoreListing {
    try waiting { store async throws(StoreError) in try await store.found() }
  }

  private func found() async throws(StoreError) -> StoreListing {
    var found: [StoreKey: [String]] = [:]
    var attributesOfFound: [StoreKey: [String: String]] = [:]
    var damage: StoreError?
    for (path, attributes) in try await store.foreignItems(with: dialect.attributes) {
      do throws(StoreError) {
        guard let key = try dialect.key(attributes) else { continue }
        found[key, default: []].append(path)
        // The same item twice is one of which the newest counts; two that get one name are not.
        if attributesOfFound.updateValue(attributes, forKey: key) ?? attributes != attributes {
          damage = .sameName(key, store: dialect.name)
        }
      } catch {
        damage = error
      }
    }
    paths.withLock { [found] in $0 = found }
    return StoreListing(keys: found.keys.sorted(), damage: damage)
  }

  /// What is thrown instead of a change.
  public var refusal: StoreError {
    StoreError(
      StoreError.accessDenied, store: "\(dialect.name) items",
      reason: "they belong to another program, and are only read here")
  }
}

extension SecretServiceStore {
  /// The items with some attributes, and all attributes of each.
  fileprivate func foreignItems(
    with attributes: [String: String]
  ) async throws(StoreError) -> [(path: String, attributes: [String: String])] {
    try await perform { operation in
      let collection = try await operation.collection()
      try await operation.unlockIfLocked(collection)
      var items: [(path: String, attributes: [String: String])] = []
      for path in try await operation.items(with: attributes, in: collection) {
        guard
          let all = try await operation.provider.attributes(of: path, until: operation.deadline)
        else { continue }
        items.append((path, all))
      }
      return items
    }
  }

  /// What the newest of some items holds; `nil` when all are gone.
  fileprivate func foreignValue(
    of paths: [String], _ isTheItem: @escaping @Sendable ([String: String]) throws -> Bool
  ) async throws(StoreError) -> SecretBytes? {
    try await perform { operation in
      guard let path = try await operation.provider.newest(of: paths, until: operation.deadline),
        let attributes = try await operation.provider.attributes(
          of: path, until: operation.deadline),
        try isTheItem(attributes)
      else { return nil }
      return try await operation.foreignSecret(of: path)
    }
  }
}

extension StoreError {
  /// Two items of another program that would have one name here.
  package static func sameName(_ key: StoreKey, store: String) -> StoreError {
    StoreError(
      alreadyExists, store: store, reason: "two different items would both be \(key)")
  }
}
