import Foundation
package import SecretStores

/// Items that something other than a store keeps, to be read and to be migrated: a list of names,
/// and a closure that reads one value.
package final class ReadOnlyItems: BlockingSecretStore, ReadOnlySecretStore, MigratableStore {
  /// A closure that reads one value; it returns `nil` if there is no item of the name.
  package typealias Read = @Sendable (ItemName) throws(StoreError) -> SecretBytes?

  /// The threads on which the `async` operations run.
  package let executor = BlockingExecutor(maximumThreadCount: 1)
  /// The traits of a read-only store, with the protection given to the initializer.
  package let traits = StoreTraits(
    isAtomic: false, isDurable: true, seesOtherProcesses: true, excludesOtherProcesses: false,
    maximumValueByteCount: Int.max, isReadOnly: true)
  private let name: String
  private let protects: StoreProtection
  private let list: @Sendable () throws(StoreError) -> StoreListing
  private let read: Read

  /// Describes items.
  ///
  /// - Parameters:
  ///   - name: The name of the items in errors: the path of their file, if they have one.
  ///   - protection: What protects them at rest, in one line for a person.
  ///   - atRest: The least that someone with the disk needs to read them; `nil` if that is unknown.
  ///   - list: Returns the names of all items.
  ///   - read: Reads one value.
  package init(
    name: String, protection: String, atRest: AtRestProtection? = nil,
    list: @escaping @Sendable () throws(StoreError) -> StoreListing, read: @escaping Read
  ) {
    self.name = name
    self.list = list
    self.read = read
    protects = StoreProtection(protection, atRest: atRest)
  }

  /// Describes items that were read at once, such as those of a file.
  ///
  /// - Parameters:
  ///   - name: The name of the items in errors: the path of their file, if they have one.
  ///   - protection: What protects them at rest, in one line for a person.
  ///   - atRest: The least that someone with the disk needs to read them.
  ///   - items: The items.
  ///   - omissions: What was left out of them.
  package convenience init(
    name: String, protection: String, atRest: AtRestProtection = .nothing,
    items: [ItemName: SecretBytes], omissions: [Omission] = []
  ) {
    self.init(name: name, protection: protection, atRest: atRest) {
      StoreListing(names: items.keys.sorted(), omissions: omissions)
    } read: { name in
      items[name]
    }
  }

  /// Returns the protection given to the initializer.
  package func protection() -> StoreProtection { protects }

  /// Returns the absolute path of a file with the items, and otherwise their name.
  package func identity() -> String? {
    FileManager.default.fileExists(atPath: name) ? name.withoutLinks : name
  }

  /// Returns the names of all items.
  ///
  /// - Throws: What the closure `list` throws.
  package func listing() throws(StoreError) -> StoreListing { try list() }

  /// Reads one value.
  ///
  /// - Throws: What the closure `read` throws.
  package func value(for name: ItemName) throws(StoreError) -> SecretBytes? { try read(name) }

  /// Returns the names of the items in one namespace, or of all items if it is `nil`.
  ///
  /// - Throws: What the closure `list` throws, or the reason why it could not list all items.
  package func names(in namespace: StoreNamespace?) throws(StoreError) -> [ItemName] {
    let listing = try list()
    if let damage = listing.damage { throw damage }
    return listing.names.filter { namespace == nil || $0.namespace == namespace }
  }

  /// The error that every change throws.
  package var refusal: StoreError {
    StoreError(.accessDenied, store: name, reason: "these items are read-only")
  }
}
