public import SecretStores
import Synchronization

/// The items of another program in the Secret Service, for reading and migrating them.
///
/// Every change is refused, because the other program may not understand it. An item whose name is
/// not valid here, or that has the name of a newer item, is not listed, and a migration reports
/// why.
public final class ForeignSecretServiceItems: AsyncSecretStore, ReadOnlySecretStore,
  MigratableStore
{
  /// The naming scheme of the program that owns the items.
  public let dialect: Dialect
  private let store: SecretServiceStore
  /// The paths of the items that were listed last.
  private let paths = Mutex<[ItemName: [String]]>([:])

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
      excludesOtherProcesses: false, maximumValueByteCount: service.maximumValueByteCount,
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
  public func asyncValue(for name: ItemName) async throws(StoreError) -> SecretBytes? {
    if let known = paths.withLock({ $0[name] }),
      let value = try await store.foreignValue(of: known, { try self.dialect.itemName($0) == name })
    {
      return value
    }
    // The item has not been listed yet, or its path now has another item.
    _ = try await found()
    guard let known = paths.withLock({ $0[name] }) else { return nil }
    return try await store.foreignValue(of: known) { try self.dialect.itemName($0) == name }
  }

  /// Returns the names of the items.
  ///
  /// - Throws: The errors of ``SecretServiceStore/asyncNames(in:)``; `invalidName` for an item that
  ///   cannot be listed.
  public func asyncNames(in namespace: StoreNamespace?) async throws(StoreError) -> [ItemName] {
    let found = try await found()
    if let omission = found.omissions.first {
      throw StoreError(
        .invalidName, store: "\(dialect.name) items",
        reason: "\(omission.name) cannot be listed: \(omission.reason)")
    }
    return found.names.filter { namespace == nil || $0.namespace == namespace }
  }

  /// Returns the names of the items, and what they leave out; blocks.
  ///
  /// - Throws: The errors of ``SecretServiceStore/asyncNames(in:)``.
  package func listing() throws(StoreError) -> StoreListing {
    try waiting { store async throws(StoreError) in try await store.found() }
  }

  private func found() async throws(StoreError) -> StoreListing {
    var found: [ItemName: [FoundItem]] = [:]
    var omissions: [Omission] = []
    for item in try await store.foreignItems(with: dialect.attributes) {
      do throws(StoreError) {
        if let name = try dialect.itemName(item.attributes) {
          found[name, default: []].append(item)
        } else if dialect.owns(item.attributes) {
          omissions.append(
            try await omission(
              item,
              "its attributes have no name for it; copy it by hand, for example with Seahorse"))
        }
      } catch let error where error.code == StoreError.invalidName {
        omissions.append(try await omission(item, "\(error.reason); copy it by hand"))
      }
    }
    for (name, items) in found where items.count > 1 {
      omissions += try await duplicates(of: name, among: items)
    }
    paths.withLock { [found] in $0 = found.mapValues { $0.map(\.path) } }
    return StoreListing(
      names: found.keys.sorted(), omissions: omissions.sorted { $0.name < $1.name })
  }

  /// Returns what is left out of several items with one name, of which the newest counts.
  ///
  /// An older one with the same attributes and the same value has nothing else in it.
  private func duplicates(
    of name: ItemName, among items: [FoundItem]
  ) async throws(StoreError) -> [Omission] {
    let paths = items.map(\.path)
    let newest = try await store.perform { operation in
      try await operation.provider.newest(of: paths, until: operation.deadline)
    }
    guard let kept = items.first(where: { $0.path == newest }) else { return [] }
    var omissions: [Omission] = []
    for item in items where item.path != kept.path {
      if GivenAttributes.of(item.attributes) == GivenAttributes.of(kept.attributes) {
        if try await haveSameSecret(item, kept) { continue }
      }
      omissions.append(
        try await omission(
          item,
          "a newer item would also be \(name), and only that one is read; copy this one by hand"))
    }
    return omissions
  }

  private func haveSameSecret(_ first: FoundItem, _ second: FoundItem) async throws(StoreError)
    -> Bool
  {
    do throws(StoreError) {
      let (one, other) = (
        try await store.foreignValue(of: [first.path]) { _ in true },
        try await store.foreignValue(of: [second.path]) { _ in true }
      )
      return one == other
    } catch let error where error.code == .corrupt {
      // One of them cannot be read with certainty.
      return false
    }
  }

  /// Describes an item by its label, which its program shows, or by the names of its attributes,
  /// whose values may be as secret as notes.
  private func omission(
    _ item: FoundItem, _ reason: String
  ) async throws(StoreError) -> Omission {
    let label = try await store.perform { operation in
      try await operation.provider.label(of: item.path, until: operation.deadline)
    }
    if let label, !label.isEmpty { return Omission(label, reason: reason) }
    let names = GivenAttributes.of(item.attributes).keys.sorted().joined(separator: ", ")
    return Omission(
      "an item without a label", part: names.isEmpty ? nil : "attributes \(names)",
      reason: reason)
  }

  /// The error that a change throws.
  public var refusal: StoreError {
    StoreError(
      .accessDenied, store: "\(dialect.name) items",
      reason: "they belong to another program, and are read-only here")
  }
}

/// An item in the service, of any program.
struct FoundItem: Sendable {
  let path: String
  let attributes: [String: String]
  /// Whether KWallet's own interface made it, which gives no attributes.
  let isOfKWallet: Bool
}

extension Operation {
  /// Returns the attributes of some items; those that are gone are left out.
  func foundItems(_ paths: [String]) async throws -> [FoundItem] {
    var items: [FoundItem] = []
    let isKWallet = try await provider.program(until: deadline) == .kWallet
    for path in paths {
      guard let attributes = try await provider.attributes(of: path, until: deadline) else {
        continue
      }
      items.append(
        FoundItem(
          path: path, attributes: attributes, isOfKWallet: isKWallet && attributes.isEmpty))
    }
    return items
  }
}

extension SecretServiceStore {
  /// Returns the items with some attributes, and all attributes of each.
  fileprivate func foreignItems(
    with attributes: [String: String]
  ) async throws(StoreError) -> [FoundItem] {
    try await perform { operation in
      let collection = try await operation.collection()
      try await operation.unlockIfLocked(collection)
      return try await operation.foundItems(operation.items(with: attributes, in: collection))
        .filter { !$0.isOfKWallet }
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
