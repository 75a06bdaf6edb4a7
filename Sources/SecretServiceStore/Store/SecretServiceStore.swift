import SessionToolsDBus
public import SecretStores
import Synchronization

/// A store of items in the desktop's keyring: in any provider of `org.freedesktop.secrets`, such as
/// gnome-keyring, KeePassXC or KWallet.
///
/// Every program of the same person can read them while the collection is unlocked. From someone
/// who has only the disk, they are protected as well as the provider protects its file.
///
/// The service is first used by the first operation. Found, absent and locked are three different
/// results: a locked or missing collection never reports an item as absent.
///
/// A provider writes its whole file for every change, which takes some milliseconds, and longer
/// with more items: keep many or large items in a sealed file store, and its key here.
public final class SecretServiceStore: AsyncSecretStore, MigratableStore {
  /// The largest value, in bytes: 16 MiB.
  public static let maximumValueByteCount = 16 << 20

  /// The collection that the store uses.
  public let collection: Collection
  /// The store's options.
  public let options: Options
  let bus: SessionBus
  let locks = RuntimeLocks()
  private let watcher = ServiceWatcher()
  /// The link that the last operation used.
  let link = Mutex<ServiceLink?>(nil)

  /// Makes a store on a collection; asks the service nothing.
  public convenience init(
    collection: Collection = .default,
    options: Options = Options()
  ) {
    self.init(collection: collection, options: options, bus: .current)
  }

  package init(
    collection: Collection, options: Options, bus: SessionBus
  ) {
    self.collection = collection
    self.options = options
    self.bus = bus
  }

  /// The store's name in errors.
  var name: String { collection.description }

  /// Reads one value; `nil` when there is no such item, and no locked collection may have it.
  ///
  /// - Throws: `locked`; `promptDismissed`; `unavailable` when there is no bus, no provider or no
  ///   such collection; `timedOut`, `cancelled`, `corrupt`, `unsupportedVersion` or
  ///   `accessDenied`.
  public func asyncValue(for name: ItemName) async throws(StoreError) -> SecretBytes? {
    try await perform { operation in try await operation.value(for: name) }
  }

  /// Returns the names of one namespace, or of all when `nil`, in ascending order.
  ///
  /// - Throws: The errors of ``asyncValue(for:)``.
  public func asyncNames(in namespace: StoreNamespace?) async throws(StoreError) -> [ItemName] {
    try await perform { operation in try await operation.names(in: namespace) }
  }

  /// Returns all names and values of one namespace, or of all when `nil`.
  ///
  /// It makes far fewer calls than reading each item.
  ///
  /// - Throws: The errors of ``asyncValue(for:)``.
  public func items(
    in namespace: StoreNamespace?
  ) async throws(StoreError) -> [ItemName: SecretBytes] {
    try await perform { operation in try await operation.items(in: namespace) }
  }

  /// Returns all names and values of one namespace, or of all when `nil`; blocks.
  ///
  /// - Throws: The errors of ``asyncValue(for:)``.
  public func items(in namespace: StoreNamespace?) throws(StoreError) -> [ItemName: SecretBytes] {
    try waiting { store async throws(StoreError) in try await store.items(in: namespace) }
  }

  /// Makes changes one after the other.
  ///
  /// - Throws: The errors of ``asyncValue(for:)``; `valueTooLarge` before any change is made;
  ///   `outcomeUnknown` when the service did not report whether it made a change, or when some
  ///   changes were made and one failed.
  public func asyncApply(_ changes: [StoreChange]) async throws(StoreError) {
    for case .put(let value, let itemName) in changes
    where value.byteCount > Self.maximumValueByteCount {
      throw StoreError(
        .valueTooLarge, store: name,
        reason: "the value for \(itemName) has \(value.byteCount) bytes",
        remedy: "Store at most \(Self.maximumValueByteCount) bytes")
    }
    for (number, change) in changes.enumerated() {
      do throws(StoreError) {
        try await perform { operation in
          switch change {
          case .put(let value, for: let itemName): try await operation.put(value, for: itemName)
          case .remove(let itemName): try await operation.remove(itemName)
          }
        }
      } catch {
        throw number == 0 ? error : partlyMade(number, of: changes.count, error)
      }
    }
  }

  /// Returns whether there is an item, without reading its value.
  ///
  /// - Throws: The errors of ``asyncValue(for:)``.
  public func asyncContains(_ name: ItemName) async throws(StoreError) -> Bool {
    try await perform { operation in
      try await !operation.items(with: ItemAttributes.identity(of: name), .presence).isEmpty
    }
  }

  /// Returns whether the provider reports the collection as locked.
  ///
  /// KWallet does so until the first operation, even for a wallet that the login opened;
  /// ``availability()`` reports whether the collection can be used.
  ///
  /// - Throws: `unavailable`, `timedOut` or `cancelled`.
  public func isLocked() async throws(StoreError) -> Bool {
    try await perform { operation in
      try await operation.provider.isLocked(
        operation.collection(), until: operation.deadline)
    }
  }

  /// Returns whether the collection can be used.
  ///
  /// - Throws: `timedOut` when the service exists but does not answer; `cancelled`; `accessDenied`,
  ///   such as when the session bus belongs to another user; `unavailable` when the bus is there
  ///   and cannot be used, or the service's answer is invalid.
  public func availability() async throws(StoreError) -> Availability {
    do {
      return try await performAlsoAfterRestart { try await $0.availability() }
    } catch let error as DBusError where error.kind == .disconnected && !bus.isPresent {
      return .noBus
    } catch let error as DBusError where error.saysNoProvider {
      return .noProvider
    } catch {
      throw storeError(error)
    }
  }

  /// Asks the person to unlock the collection, whatever the policy; does nothing if it is unlocked.
  ///
  /// With the default collection: if that is unlocked, it asks to unlock the other collections that
  /// may have an item of this library. With a name that no open collection has: it asks to unlock
  /// those that may have it.
  ///
  /// - Throws: `promptDismissed`, also when the question could not be shown; `timedOut` when it was
  ///   not answered, `unavailable` or `cancelled`.
  public func unlock() async throws(StoreError) {
    try await perform { operation in
      let collection = try await operation.collection(asking: .ifNeeded)
      if try await operation.provider.isLocked(collection, until: operation.deadline) {
        try await operation.unlock(collection, asking: .ifNeeded)
      } else if operation.store.collection.name == nil {
        try await operation.unlockOthers(than: collection)
      }
    }
  }

  /// Returns the changes of items from now on, by any program.
  ///
  /// - Note: For a removed item a provider reports the path, not the name; if the name is unknown,
  ///   the stream yields `resynchronize`.
  public func changes() -> AsyncStream<StoreEvent> {
    watcher.stream(from: self)
  }

  /// Returns the changes of some items from now on, by any program.
  ///
  /// As ``changes()``; an event costs only those who listen to one of its names.
  public func changes(of names: Set<ItemName>) -> AsyncStream<StoreEvent> {
    watcher.stream(from: self, of: names)
  }

  /// The traits of a store without atomic changes that other processes share; durable, unless the
  /// collection is the one in memory; without exclusion of other processes in a sandbox.
  public var traits: StoreTraits {
    StoreTraits(
      isAtomic: false, isDurable: collection.name != "session", seesOtherProcesses: true,
      excludesOtherProcesses: Sandbox.current == nil && !locks.isFileNeeded.withLock(\.self),
      maximumValueByteCount: Self.maximumValueByteCount)
  }

  /// Returns that the provider protects the items, with the keyring's password.
  public func protection() -> StoreProtection {
    StoreProtection(
      "kept by the Secret Service, collection \(collection.name ?? "default"); open to every "
        + "program of the session while it is unlocked",
      atRest: collection.name == "session" ? nil : .keyring)
  }
}

extension SecretServiceStore {
  /// Whether a collection of the Secret Service can be used, as determined without a question.
  public enum Availability: Hashable, Sendable {
    /// There is no session bus: no address, or nothing at the address.
    case noBus
    /// No program on the bus provides the service, and the bus can start none.
    case noProvider
    /// The service has no such collection, or no default one.
    case noCollection
    /// The collection is locked.
    case locked
    /// The collection is unlocked, or is an open KWallet wallet, which is unlocked without a
    /// question.
    case unlocked
  }
}
