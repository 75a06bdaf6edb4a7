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
  private let link = Mutex<ServiceLink?>(nil)

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

  /// The collection, as the service calls it; blocks.
  ///
  /// - Throws: As ``asyncValue(for:)``.
  public func identity() throws(StoreError) -> String? {
    "secret service "
      + (try waiting { store async throws(StoreError) in
        try await store.perform { operation in try await operation.collection() }
      })
  }

  /// The names of all items, with the values of small ones, which the service gives together; of
  /// items that somebody changed, the names that their attributes have.
  ///
  /// - Throws: As ``asyncValue(for:)``.
  public func listing() throws(StoreError) -> StoreListing {
    try waiting { store async throws(StoreError) in
      try await store.perform { operation in try await operation.listing() }
    }
  }

  /// Reads small values of each namespace together; large ones are to be read one by one.
  ///
  /// - Throws: As ``asyncValue(for:)``.
  public func values(
    ofFirst keys: ArraySlice<StoreKey>
  ) throws(StoreError) -> [SecretBytes?] {
    // For a few, one by one is faster than a whole namespace.
    guard keys.count >= Self.smallestBulkCount else { return keys.map { _ in nil } }
    var values: [StoreKey: SecretBytes] = [:]
    for namespace in Set(keys.map(\.namespace)) {
      let items = try waiting { store async throws(StoreError) in
        try await store.perform { operation in try await operation.smallItems(in: namespace) }
      }
      values.merge(items) { $1 }
    }
    return keys.map { values[$0] }
  }

  private static let smallestBulkCount = 20

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

  /// Whether the collection is locked.
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

  func perform<Result: Sendable>(
    _ body: @Sendable (Operation) async throws -> Result
  ) async throws(StoreError) -> Result {
    do {
      return try await performAlsoAfterRestart(body)
    } catch let error as UnansweredChange {
      throw outcomeUnknown(error.reason)
    } catch {
      throw storeError(error)
    }
  }

  /// Runs an operation, a second time when the provider was restarted since the last one, or
  /// meanwhile: doing it twice is as doing it once.
  private func performAlsoAfterRestart<Result: Sendable>(
    _ body: @Sendable (Operation) async throws -> Result
  ) async throws -> Result {
    let deadline = Deadline(in: options.timeout)
    do {
      return try await performOnce(until: deadline, body)
    } catch let first where first.meansRestart {
      do {
        return try await performOnce(until: deadline, body)
      } catch let error where first is UnansweredChange && !(error is UnansweredChange) {
        throw UnansweredChange(reason: error)
      }
    }
  }

  private func performOnce<Result: Sendable>(
    until deadline: Deadline, _ body: @Sendable (Operation) async throws -> Result
  ) async throws -> Result {
    let used = try await currentLink(until: deadline)
    do {
      return try await body(Operation(store: self, link: used, deadline: deadline))
    } catch let error where error.meansRestart {
      link.withLock { link in
        // Another task may have met the new provider already.
        if link?.provider.connection === used.provider.connection { link = nil }
      }
      throw error
    }
  }

  /// The link that all operations use: KeePassXC gives items to the connection that made them.
  private func currentLink(until deadline: Deadline) async throws(DBusError) -> ServiceLink {
    if let link = openLink { return link }
    let new = try await ServiceLink.open(on: bus, until: deadline)
    return link.withLock { link in
      if let link, !link.provider.connection.isClosed { return link }
      link = new
      return new
    }
  }

  private var openLink: ServiceLink? {
    link.withLock { $0 }.flatMap { $0.provider.connection.isClosed ? nil : $0 }
  }
}

extension SecretServiceStore {
  func locked() -> StoreError {
    StoreError(
      StoreError.locked, store: name, reason: "the keyring is locked",
      remedy: "Unlock it in the desktop's password program, or allow this program to ask")
  }

  func notAllowed() -> StoreError {
    StoreError(
      StoreError.locked, store: name,
      reason: "the keyring lets this program read the item only when a person allows it",
      remedy: "Allow this program to ask, or turn the confirmation off in KeePassXC's settings")
  }

  /// What a line of the service says.
  ///
  /// - Throws: `corrupt` or `unsupportedVersion`.
  func item(in line: SecretBytes) throws(StoreError) -> (key: StoreKey, value: SecretBytes) {
    do throws(ItemLine.Defect) {
      return try ItemLine.decode(line)
    } catch .isNewer {
      throw StoreError(
        StoreError.unsupportedVersion, store: name,
        reason: "an item was written by a newer version of this library",
        remedy: "Use a newer version of the program")
    } catch {
      throw corrupt("an item is not as it was written")
    }
  }

  /// For what stood between a change and its confirmation.
  func outcomeUnknown(_ reason: any Error) -> StoreError {
    StoreError(
      StoreError.outcomeUnknown, store: name,
      reason: "the service did not say whether it made the change",
      remedy: "Read the item again", underlying: reason)
  }

  private func partlyMade(_ count: Int, of all: Int, _ error: StoreError) -> StoreError {
    StoreError(
      StoreError.outcomeUnknown, store: name,
      reason: "\(count) of \(all) changes were made, then: \(error.reason)",
      remedy: error.remedy, underlying: error)
  }

  func corrupt(_ reason: String) -> StoreError {
    StoreError(
      StoreError.corrupt, store: name, reason: reason,
      remedy: "Look at the items of session-tools in the desktop's password program")
  }

  private func storeError(_ error: any Error) -> StoreError {
    switch error {
    case let error as StoreError: error
    case let error as DBusError: storeError(error)
    default:
      StoreError(StoreError.unavailable, store: name, reason: "\(error)", underlying: error)
    }
  }

  private func storeError(_ error: DBusError) -> StoreError {
    switch error.kind {
    case .timedOut:
      StoreError(
        StoreError.timedOut, store: name, reason: "the service did not answer in time",
        underlying: error)
    case .cancelled:
      StoreError(StoreError.cancelled, store: name, reason: "the task was cancelled")
    case .disconnected:
      StoreError(
        StoreError.unavailable, store: name,
        reason: "there is no session bus to reach it on: \(error.message)",
        remedy: "Log in to a desktop, or run the program with dbus-run-session",
        underlying: error)
    case .remote(let name):
      remoteError(name, error)
    }
  }

  private func remoteError(_ remote: String, _ error: DBusError) -> StoreError {
    switch remote {
    case _ where error.saysLocked: return locked()
    case "org.freedesktop.DBus.Error.AccessDenied":
      return StoreError(
        StoreError.accessDenied, store: name, reason: "the service refused: \(error.message)",
        underlying: error)
    case _ where error.saysNoProvider:
      return StoreError(
        StoreError.unavailable, store: self.name,
        reason: "no program provides org.freedesktop.secrets on the session bus",
        remedy: "Install and start one, such as gnome-keyring or KeePassXC", underlying: error)
    default:
      return StoreError(
        StoreError.unavailable, store: name, reason: "the service answered: \(error.message)",
        underlying: error)
    }
  }
}

extension DBusError {
  /// Whether what was asked for is locked.
  var saysLocked: Bool { name == "org.freedesktop.Secret.Error.IsLocked" }

  /// Whether nobody provides the service, and nobody could be started.
  var saysNoProvider: Bool {
    guard let name else { return false }
    return name.hasPrefix("org.freedesktop.DBus.Error.Spawn")
      || [
        "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner",
      ].contains(name)
  }

  /// Whether a call went to a provider that is not there any more.
  var saysRestarted: Bool {
    if kind == .disconnected { return true }
    return [
      "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner",
      "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.Secret.Error.NoSession",
    ].contains(name)
  }
}

extension Error {
  /// Whether a provider that was started anew may be asked again.
  fileprivate var meansRestart: Bool {
    self is UnansweredChange || (self as? DBusError)?.saysRestarted == true
  }
}
