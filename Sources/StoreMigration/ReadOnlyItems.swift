public import Dispatch
public import SessionToolsBase

/// Items that are kept by something else, to be read and to be migrated.
///
/// Write this for whatever a program of yours kept its secrets in before: a list of names, and a
/// closure that reads one value.
public final class ReadOnlyItems: BlockingSecretStore, ReadOnlySecretStore, MigratableStore {
  /// Reads one value; `nil` when there is none of the name.
  public typealias Read = @Sendable (StoreKey) throws(StoreError) -> SecretBytes?

  /// Where the `async` operations run.
  public let queue = DispatchQueue(label: "session-tools.read-only-items")
  /// Read only; the protection is what the maker says.
  public let traits: StoreTraits
  private let name: String
  private let list: @Sendable () throws(StoreError) -> StoreListing
  private let read: Read

  /// Describes items.
  ///
  /// - Parameters:
  ///   - name: What they are called in errors, and what a migration tells them apart by.
  ///   - protection: What protects them at rest, in one line for a person.
  ///   - atRest: The least that someone with the disk needs to read them; `nil` when that is not
  ///     known.
  ///   - list: The names there are.
  ///   - read: Reads one value.
  public init(
    name: String, protection: String, atRest: AtRestProtection? = nil,
    list: @escaping @Sendable () throws(StoreError) -> StoreListing, read: @escaping Read
  ) {
    self.name = name
    self.list = list
    self.read = read
    traits = StoreTraits(
      isAtomic: false, isDurable: true, seesOtherProcesses: true, excludesOtherProcesses: false,
      largestValueByteCount: Int.max, protection: protection, atRest: atRest, isReadOnly: true)
  }

  /// The name.
  public func identity() -> String? { name }

  /// The names there are.
  ///
  /// - Throws: What the maker's closure throws.
  public func listing() throws(StoreError) -> StoreListing { try list() }

  /// Reads one value.
  ///
  /// - Throws: What the maker's closure throws.
  public func value(for key: StoreKey) throws(StoreError) -> SecretBytes? { try read(key) }

  /// The names there are.
  ///
  /// - Throws: What the maker's closure throws, and what keeps any of them from being listed.
  public func keys(in namespace: Namespace?) throws(StoreError) -> [StoreKey] {
    let listing = try list()
    if let damage = listing.damage { throw damage }
    return listing.keys.filter { namespace == nil || $0.namespace == namespace }
  }

  /// What is thrown instead of a change.
  public var refusal: StoreError {
    StoreError(StoreError.accessDenied, store: name, reason: "these items are only read")
  }
}
