import DBus
public import SessionToolsBase
import Synchronization

/// Items in the desktop's keyring: whatever provides `org.freedesktop.secrets`, such as
/// gnome-keyring, KeePassXC or KWallet.
///
/// Every program of the same person can read them while the collection is unlocked; they are
/// protected from whoever has the disk, as well as the provider protects its file.
///
/// Nothing is asked of the service until the first operation. Found, absent and locked are three
/// answers: a collection that is locked, or not there, never says that an item is absent.
///
/// A provider writes its whole file for every change, which takes some milliseconds, more with
/// more items: keep many or large items in a sealed file store, and its key here.
public final class SecretServiceStore: AsyncSecretStore, MigratableStore {
  /// The largest value it takes, in bytes: 16 MiB.
  public static let largestValueByteCount = 16 << 20

  /// The collection that is used.
  public let collection: SecretServiceCollection
  /// How it is used.
  public let options: SecretServiceOptions
  let bus: SessionBus
  let locks = RuntimeLocks()
  private let watcher = ServiceWatcher()
  /// What the last operation used.
  let link = Mutex<ServiceLink?>(nil)

  /// Names a collection; nothing is asked of the service.
  public convenience init(
    collection: SecretServiceCollection = .default,
    options: SecretServiceOptions = SecretServiceOptions()
  ) {
    self.init(collection: collection, options: options, bus: .current)
  }

  package init(
    collection: SecretServiceCollection, options: SecretServiceOptions, bus: SessionBus
  ) {
    self.collection = collection
    self.options = options
    self.bus = bus
  }

  /// The name in errors.
  var name: String { collection.description }

  /// Reads one value; `nil` when the collection is unlocked and there is no such item.
  ///
  /// - Throws: `locked`; `promptDismissed`; `unavailable` when there is no bus, no provider or no
  ///   such collection; `timedOut`, `cancelled`, `corrupt`, `unsupportedVersion` or
  ///   `accessDenied`.
  public func asyncValue(for key: StoreKey) async throws(StoreError) -> SecretBytes? {
    try await perform { operation in try await operation.value(for: key) }
  }

  /// The keys of one namespace, or of all when `nil`, in ascending order.
  ///
  /// - Throws: As ``asyncValue(for:)``.
  public func asyncKeys(in namespace: Namespace?) async throws(StoreError) -> [StoreKey] {
    try await perform { operation in try await operation.keys(in: namespace) }
  }

  /// All keys and values of one namespace, or of all when `nil`: in far fewer calls than asking
  /// for each.
  ///
  /// - Throws: As ``asyncValue(for:)``.
  public func items(
    in namespace: Namespace?
  ) async throws(StoreError) -> [StoreKey: SecretBytes] {
    try await perform { operation in try await operation.items(in: namespace) }
  }

  /// Waits for the `async` twin.
  ///
  /// - Throws: As ``asyncValue(for:)``.
  public func items(in namespace: Namespace?) throws(StoreError) -> [StoreKey: SecretBytes] {
    try waiting { store async throws(StoreError) in try await store.items(in: namespace) }
  }

  /// Makes changes one after the other.
  ///
  /// - Throws: As ``asyncValue(for:)``; `valueTooLarge` before any change is made;
  ///   `outcomeUnknown` when the service did not say whether it made a change, or when some were
  ///   made and one failed.
  public func asyncApply(_ changes: [StoreChange]) async throws(StoreError) {
    for case .put(let value, let key) in changes
    where value.byteCount > Self.largestValueByteCount {
      throw StoreError(
        StoreError.valueTooLarge, store: name,
        reason: "the value for \(key) has \(value.byteCount) bytes",
        remedy: "Store at most \(Self.largestValueByteCount) bytes")
    }
    for (number, change) in changes.enumerated() {
      do throws(StoreError) {
        try await perform { operation in
          switch change {
          case .put(let value, for: let key): try await operation.put(value, for: key)
          case .remove(let key): try await operation.remove(key)
          }
        }
      } catch {
        throw number == 0 ? error : partlyMade(number, of: changes.count, error)
      }
    }
  }

  /// Whether there is an item, without reading its value.
  ///
  /// - Throws: As ``asyncValue(for:)``.
  public func asyncContains(_ key: StoreKey) async throws(StoreError) -> Bool {
    try await perform { operation in
      let collection = try await operation.collection()
      return try await !operation.items(
        with: ItemAttributes.identity(of: key), in: collection
      ).isEmpty
    }
  }

  /// Whether the provider says that the collection is locked, as KWallet does of a wallet that the
  /// login opened until the first operation; ``availability()`` says whether it can be used.
  ///
  /// - Throws: `unavailable`, `timedOut` or `cancelled`.
  public func isLocked() async throws(StoreError) -> Bool {
    try await perform { operation in
      try await operation.provider.isLocked(
        operation.collection(), until: operation.deadline)
    }
  }

  /// Whether the collection can be used.
  ///
  /// - Throws: `timedOut` when the service is there and does not answer, `cancelled`,
  ///   `accessDenied`, or `unavailable` when it answers what it should not.
  public func availability() async throws(StoreError) -> SecretServiceAvailability {
    do {
      return try await performAlsoAfterRestart { try await $0.availability() }
    } catch let error as DBusError where error.kind == .disconnected {
      return .noBus
    } catch let error as DBusError where error.saysNoProvider {
      return .noProvider
    } catch {
      throw storeError(error)
    }
  }

  /// Asks the person to unlock the collection, whatever the policy; nothing happens when it is
  /// unlocked.
  ///
  /// - Throws: `promptDismissed`, also when the question could not be shown; `timedOut` when
  ///   nobody answered, `unavailable` or `cancelled`.
  public func unlock() async throws(StoreError) {
    try await perform { operation in
      let collection = try await operation.collection()
      guard try await operation.provider.isLocked(collection, until: operation.deadline) else {
        return
      }
      try await operation.unlock(collection, asking: .ifNeeded)
    }
  }

  /// The items that change from now on, whoever changes them.
  ///
  /// - Note: A provider tells the path of an item that was removed, not its name; where the name
  ///   is not known, the stream tells to resynchronize.
  public func changes() -> AsyncStream<StoreEvent> {
    watcher.stream(of: self)
  }

  /// Not all or nothing; durable, unless the collection is one in memory; shared with other
  /// processes.
  public var traits: StoreTraits {
    StoreTraits(
      isAtomic: false, isDurable: collection.name != "session", seesOtherProcesses: true,
      excludesOtherProcesses: true, largestValueByteCount: Self.largestValueByteCount,
      protection: "kept by the Secret Service, collection \(collection.name ?? "default"); "
        + "open to every program of the session while it is unlocked",
      atRest: collection.name == "session" ? nil : .keyring)
  }
}
