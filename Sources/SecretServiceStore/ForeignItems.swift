public import SessionToolsBase
import Synchronization

/// The items of another program in the Secret Service, for reading and migrating them.
///
/// Every change is refused, because the other program may not understand it. An item whose name is
/// not valid here is not listed, and a migration reports why.
public final class ForeignSecretServiceItems: AsyncSecretStore, ReadOnlySecretStore,
  MigratableStore
{
  /// The naming scheme of the program that owns the items.
  public let dialect: Dialect
  private let store: SecretServiceStore
  /// The paths of the items that were listed last.
  private let paths = Mutex<[StoreKey: [String]]>([:])

  /// Describes a program's items; asks the service nothing.
  public convenience init(
    _ dialect: Dialect, collection: SecretServiceStore.Collection = .default,
    options: SecretServiceStore.Options = SecretServiceStore.Options()
  ) {
    self.init(dialect, SecretServiceStore(collection: collection, options: options))
  }

  package init(_ dialect: Dialect, _ store: SecretServiceStore) {
    self.dialect = dialect
    self.store = store
  }

  /// The traits of a read-only store.
  public var traits: StoreTraits {
    let service = store.traits
    return StoreTraits(
      isAtomic: false, isDurable: service.isDurable, seesOtherProcesses: true,
      excludesOtherProcesses: false, largestValueByteCount: service.largestValueByteCount,
      isReadOnly: true)
  }

  /// Returns the collection's protection.
  public func protection() -> StoreProtection { store.protection() }

  /// Returns the dialect and the collection; blocks.
  ///
  /// - Throws: The errors of ``SecretServiceStore/identity()``.
  public func identity() throws(StoreError) -> String? {
    try store.identity().map { "\(dialect.name) in \($0)" }
  }

  /// Reads the value of an item.
  ///
  /// - Throws: The errors of ``SecretServiceStore/asyncValue(for:)``.
  public func asyncValue(for key: StoreKey) async throws(StoreError) -> SecretBytes? {
    if let known = paths.withLock({ $0[key] }),
      let value = try await store.foreignValue(of: known, { try self.dialect.key($0) == key })
    {
      return value
    }
    // The item has not been listed yet, or its path now has another item.
    _ = try await found()
    guard let known = paths.withLock({ $0[key] }) else { return nil }
    return try await store.foreignValue(of: known) { try self.dialect.key($0) == key }
  }

  /// Returns the names of the items.
  ///
  /// - Throws: The errors of ``SecretServiceStore/asyncKeys(in:)``; `invalidName` for an item whose
  ///   name is not valid here.
  public func asyncKeys(in namespace: StoreNamespace?) async throws(StoreError) -> [StoreKey] {
    let found = try await found()
    if let damage = found.damage { throw damage }
    return found.keys.filter { namespace == nil || $0.namespace == namespace }
  }

  /// Returns the names of the items, and an error for one that has no valid name here; blocks.
  ///
  /// - Throws: The errors of ``SecretServiceStore/asyncKeys(in:)``.
  package func listing() throws(StoreError) -> StoreListing {
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
        // Of duplicates of one item the newest counts; two different items with one name are an
        // error.
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

  /// The error that a change throws.
  public var refusal: StoreError {
    StoreError(
      .accessDenied, store: "\(dialect.name) items",
      reason: "they belong to another program, and are read-only here")
  }
}

extension SecretServiceStore {
  /// Returns the items with some attributes, and all attributes of each.
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

  /// Returns the secret of the newest of some items; `nil` when all are gone.
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
  /// Returns an error for two items of another program that would have the same name here.
  package static func sameName(_ key: StoreKey, store: String) -> StoreError {
    StoreError(
      .alreadyExists, store: store, reason: "two different items would both be \(key)")
  }
}
