import Dispatch
import Foundation
import SecretStores
package import SessionToolsDBus

/// A sealed store as `org.freedesktop.secrets` on a bus.
///
/// Source: the Secret Service API draft, version 0.2, and what its clients do with it.
///
/// Unchecked, because everything that changes is used on the queue only.
package final class SecretService: @unchecked Sendable {
  package static let busName = "org.freedesktop.secrets"
  /// The collection of items that are not kept.
  static let transientCollection = "session"
  /// The collection that clients use that name none.
  static let defaultCollection = "login"
  /// What one answer may carry: the bus disconnects who sends more than 128 MiB.
  static let maximumAnswerByteCount = 96 << 20
  private static let busTimeout = Duration.seconds(25)

  private let connection: DBusConnection
  private let access: KeyringAccess
  let queue = DispatchQueue(label: "session-tools.secret-service")
  private var serving: DBusServing?
  private var leaving: DBusSubscription?

  private var keyring: Keyring?
  private var transient: Keyring?
  private var watch: Task<Void, Never>?
  /// Whether a client has locked the store, which then stays locked until one unlocks it.
  private var isHeld = false
  /// What is known of the collections while the store is locked.
  private var knownCollections = [defaultCollection: CollectionDescription(label: "Login")]
  private var knownAliases: [String: String] = [:]

  var sessions = Sessions()
  private var lockedSearches = LockedSearches()
  private var prompts: [String: Prompt] = [:]
  private var lastPrompt = 0
  /// The collections whose lists of items have changed since clients were told.
  private var changedLists: Set<String> = []

  /// Serves a store, which is opened when a client first needs it.
  package init(on connection: DBusConnection, _ access: KeyringAccess) {
    self.connection = connection
    self.access = access
  }

  /// Answers calls from now on, as the owner of the name on the bus.
  ///
  /// - Throws: `remote` with `AddressInUse` if another program has the name; `timedOut`,
  ///   `cancelled` or `disconnected`.
  package func start() async throws(DBusError) {
    leaving = await connection.subscribe(
      to: DBusConnection.busName, from: DBusConnection.busName
    ) { [weak self] signal in
      guard let self, signal.name == "NameOwnerChanged", signal.arguments.count == 3,
        let name = signal.arguments[0].text, name.hasPrefix(":"),
        signal.arguments[2].text == ""
      else { return }
      queue.async { self.forget(client: name) }
    }
    serving = connection.serve(on: queue) { [weak self] call throws(DBusError) in
      guard let self else { throw .unknownMethod(call) }
      return try answer(call)
    }
    let reply = try await connection.call(
      DBusConnection.busMethod("RequestName"),
      // Not in the queue of those that wait for the name.
      [.string(Self.busName), .unsigned32(4)], timeout: Self.busTimeout)
    guard reply.children.first?.unsigned32 == 1 else {
      serving = nil
      throw DBusError(
        .remote("org.freedesktop.DBus.Error.AddressInUse"), "another program has the name")
    }
  }

  private func forget(client: String) {
    sessions.closeAll(of: client)
    lockedSearches.removeAll(of: client)
    for (name, prompt) in prompts where prompt.client == client {
      prompts[name] = nil
      prompt.question?.cancel()
    }
  }

  // MARK: Opening and locking

  /// Returns the store's collections, and opens the store if that needs no person.
  ///
  /// - Parameter unlocks: Whether a store is opened that a client has locked.
  /// - Returns: The collections.
  /// - Throws: `IsLocked`, or the store's error.
  func opened(unlocks: Bool = false) throws(DBusError) -> Keyring {
    if let keyring {
      if access.isStillUnlocked() { return keyring }
      close()
    }
    if unlocks { isHeld = false }
    guard !isHeld else { throw locked }
    let store: any MigratableStore
    do throws(StoreError) {
      store = try access.open()
    } catch {
      throw DBusError(error, unlockCommand: access.unlockCommand)
    }
    return try use(store)
  }

  private var locked: DBusError {
    .isLocked("the store is locked: run \(access.unlockCommand)")
  }

  /// - Throws: The store's error.
  @discardableResult private func use(_ store: any MigratableStore) throws(DBusError) -> Keyring {
    isHeld = false
    let events = store.changes()
    let keyring: Keyring
    do throws(StoreError) {
      keyring = try Keyring(store, permanent: Self.defaultCollection) { [unowned self] change in
        emit(change)
      }
    } catch {
      wipeKeys(of: store)
      throw DBusError(error, unlockCommand: access.unlockCommand)
    }
    self.keyring = keyring
    watch = Task { [weak self] in
      for await event in events {
        guard let self else { return }
        self.queue.async { self.takeOver(event, of: store) }
      }
    }
    let before = knownCollections
    remember(keyring)
    for name in keyring.collections.keys.sorted() {
      if before[name] == nil {
        emit("CollectionCreated", .objectPath(ObjectPath.collection(name).text))
      }
      emitProperties(of: .collection(name), .collection)
    }
    if Set(before.keys) != Set(keyring.collections.keys) { emitCollections() }
    lockedSearches.forEach { id, attributes in
      if keyring.search(attributes).isEmpty { return }
      emitProperties(of: .item(id), .item)
    }
    return keyring
  }

  private func remember(_ keyring: Keyring) {
    knownCollections = keyring.collections
    knownAliases = keyring.aliases
  }

  private func takeOver(_ event: StoreEvent, of store: any MigratableStore) {
    guard let keyring, keyring.store as AnyObject === store as AnyObject else { return }
    do throws(StoreError) {
      try keyring.takeOver(event)
      remember(keyring)
    } catch {
      // Read again by the call that needs it, which also answers with the error.
      close()
    }
  }

  /// Closes the store, for another look at it by the next call.
  private func close() {
    guard let keyring else { return }
    remember(keyring)
    self.keyring = nil
    watch?.cancel()
    watch = nil
    wipeKeys(of: keyring.store)
    for name in knownCollections.keys.sorted() {
      emitProperties(of: .collection(name), .collection)
    }
  }

  private func wipeKeys(of store: any MigratableStore) {
    (store as? any LockableSecretStore)?.lock()
  }

  /// Does something with a store's collections.
  ///
  /// - Throws: `IsLocked`, or the store's error, after which it is opened again by the next call.
  func with<Result>(
    _ keyring: Keyring, _ body: (Keyring) throws(StoreError) -> Result
  ) throws(DBusError) -> Result {
    do throws(StoreError) {
      return try body(keyring)
    } catch {
      let isAboutCall: Set<StoreError.Code> = [
        .valueTooLarge, .invalidName, .noSpace, .timedOut, .outcomeUnknown,
      ]
      if keyring === self.keyring, !isAboutCall.contains(error.code) { close() }
      throw DBusError(error, unlockCommand: access.unlockCommand)
    }
  }

  // MARK: Objects

  /// Returns the items that are not kept.
  func transientKeyring() throws(DBusError) -> Keyring {
    if let transient { return transient }
    do throws(StoreError) {
      let keyring = try Keyring(MemoryStore(), permanent: Self.transientCollection) {
        [unowned self] change in emit(change)
      }
      transient = keyring
      return keyring
    } catch {
      throw DBusError(error, unlockCommand: access.unlockCommand)
    }
  }

  /// Returns what has a collection, which need not exist.
  ///
  /// - Throws: As ``opened(unlocks:)``.
  func keyring(of collection: String) throws(DBusError) -> Keyring {
    try collection == Self.transientCollection ? transientKeyring() : opened()
  }

  /// The collections that are there, as far as that is known.
  var collectionNames: [String] {
    let names = ((try? opened())?.collections ?? knownCollections).keys
    return names.sorted() + [Self.transientCollection]
  }

  /// Returns the name of the collection that an alias means.
  func collection(ofAlias alias: String) -> String? {
    let aliases = keyring?.aliases ?? knownAliases
    let known = keyring?.collections ?? knownCollections
    if let name = aliases[alias], known[name] != nil { return name }
    return switch alias {
    case "default", Self.defaultCollection: Self.defaultCollection
    case Self.transientCollection: Self.transientCollection
    default: nil
    }
  }

  /// Returns what a collection is, as far as that is known.
  ///
  /// - Returns: The description, and whether the collection is locked.
  /// - Throws: `NoSuchObject`; `IsLocked` if that is not known while the store is locked; the
  ///   store's error.
  func collection(_ name: String) throws(DBusError) -> (CollectionDescription, isLocked: Bool) {
    let path = ObjectPath.collection(name).text
    do throws(DBusError) {
      guard let found = try keyring(of: name).collections[name] else { throw .noSuchObject(path) }
      return (found, false)
    } catch {
      guard error.saysLocked, let known = knownCollections[name] else { throw error }
      return (known, true)
    }
  }

  /// Returns the item that a path means: for one that a search of a locked store has given, the
  /// first that it would have found.
  ///
  /// - Throws: `NoSuchObject`, `IsLocked`, or the store's error.
  func item(_ id: ItemID) throws(DBusError) -> (Keyring, ItemID, ItemDescription) {
    let keyring = try keyring(of: id.collection)
    let found = lockedSearches.attributes(of: id).map { keyring.search($0).first } ?? id
    guard let found, let description = keyring.description(of: found) else {
      throw .noSuchObject(id.path)
    }
    return (keyring, found, description)
  }

  /// Returns the attributes that an item has, if a search of a locked store has given its path.
  func attributesSearched(as id: ItemID) -> Attributes? { lockedSearches.attributes(of: id) }

  // MARK: Searching

  /// - Returns: The paths of items that can be read, and of those that are locked.
  func search(
    _ attributes: Attributes, by client: String
  ) throws(DBusError) -> (unlocked: [String], locked: [String]) {
    let passing = try transientKeyring().search(attributes).map(\.path)
    do throws(DBusError) {
      return (try opened().search(attributes).map(\.path) + passing, [])
    } catch {
      guard error.saysLocked else { throw error }
      // The names are sealed: an item of this path stands for what there may be. An empty answer
      // would mean that there are no items, and no client would ask to unlock the store.
      return (passing, [lockedSearches.add(attributes, by: client).path])
    }
  }

  // MARK: Locking for clients

  /// - Returns: The paths that are unlocked, and the prompt for the others, or `/`.
  func unlock(
    _ paths: [String], for client: String
  ) throws(DBusError) -> (unlocked: [String], prompt: String) {
    let lockable = paths.filter { !isTransient($0) }
    guard !lockable.isEmpty else { return (paths, ObjectPath.none) }
    do throws(DBusError) {
      _ = try opened(unlocks: true)
      return (unlockedPaths(paths), ObjectPath.none)
    } catch {
      guard error.saysLocked else { throw error }
      lastPrompt += 1
      let name = "p\(lastPrompt)"
      prompts[name] = Prompt(client: client, paths: lockable)
      return (paths.filter(isTransient), ObjectPath.prompt(name).text)
    }
  }

  /// The paths of what is unlocked now: what was found for a search stands in the place of the item
  /// that stood for it.
  private func unlockedPaths(_ paths: [String]) -> [String] {
    paths.flatMap { path -> [String] in
      guard case .item(let id)? = ObjectPath(path),
        let attributes = lockedSearches.attributes(of: id)
      else { return [path] }
      return keyring?.search(attributes).map(\.path) ?? []
    }
  }

  private func isTransient(_ path: String) -> Bool {
    switch ObjectPath(path) {
    case .collection(let name)?: name == Self.transientCollection
    case .alias(let name)?: collection(ofAlias: name) == Self.transientCollection
    case .item(let id)?: id.collection == Self.transientCollection
    default: false
    }
  }

  /// Locks the store, of which no part can be locked alone.
  ///
  /// - Returns: The paths that are locked.
  func lock(_ paths: [String]) -> [String] {
    let lockable = paths.filter { !isTransient($0) }
    guard !lockable.isEmpty else { return [] }
    isHeld = true
    close()
    access.forgetKey()
    return lockable
  }

  // MARK: Prompts

  /// A question that a client may have asked, once.
  private struct Prompt {
    let client: String
    let paths: [String]
    var question: KeyringAccess.Question?
  }

  private func prompt(_ name: String, of client: String) throws(DBusError) -> Prompt {
    guard let prompt = prompts[name], prompt.client == client else {
      throw .noSuchObject(ObjectPath.prompt(name).text)
    }
    return prompt
  }

  /// Asks a person, and sends the client the outcome later.
  ///
  /// - Throws: `NoSuchObject` for another client's; `IsLocked`, which says what to run, if no
  ///   person can be asked.
  func showPrompt(_ name: String, to client: String) throws(DBusError) {
    var prompt = try prompt(name, of: client)
    guard prompt.question == nil else { return }
    // Someone may have unlocked it meanwhile.
    if (try? opened(unlocks: true)) != nil { return complete(name, isDismissed: false) }
    guard let question = access.question(try process(of: client)) else {
      prompts[name] = nil
      throw locked
    }
    prompt.question = question
    prompts[name] = prompt
    Thread.detachNewThread { [self] in
      let result = Result { () throws(StoreError) in try question.open() }
      queue.async { self.answered(name, result) }
    }
  }

  private func answered(_ name: String, _ result: Result<any MigratableStore, StoreError>) {
    guard prompts[name] != nil else {
      if case .success(let store) = result { wipeKeys(of: store) }
      return
    }
    guard case .success(let store) = result else { return complete(name, isDismissed: true) }
    if keyring == nil { _ = try? use(store) }
    complete(name, isDismissed: keyring == nil)
  }

  private func complete(_ name: String, isDismissed: Bool) {
    guard let prompt = prompts.removeValue(forKey: name) else { return }
    let paths = isDismissed ? [] : unlockedPaths(prompt.paths)
    connection.emit(
      "Completed", of: Interface.prompt.rawValue, from: ObjectPath.prompt(name).text,
      to: prompt.client, [.boolean(isDismissed), .variant(.objectPaths(paths))])
  }

  /// - Throws: `NoSuchObject` for another client's.
  func dismissPrompt(_ name: String, of client: String) throws(DBusError) {
    let prompt = try prompt(name, of: client)
    prompt.question?.cancel()
    complete(name, isDismissed: true)
  }

  // MARK: Signals

  private func emit(_ change: Keyring.Change) {
    switch change {
    case .collectionCreated(let name):
      emit("CollectionCreated", .objectPath(ObjectPath.collection(name).text))
      emitCollections()
    case .collectionDeleted(let name):
      emit("CollectionDeleted", .objectPath(ObjectPath.collection(name).text))
      emitCollections()
    case .collectionChanged(let name):
      emit("CollectionChanged", .objectPath(ObjectPath.collection(name).text))
      emitProperties(of: .collection(name), .collection, except: ["Items"])
    case .itemCreated(let id): emit("ItemCreated", id)
    case .itemDeleted(let id): emit("ItemDeleted", id)
    case .itemChanged(let id):
      emit("ItemChanged", id)
      emitProperties(of: .item(id), .item)
    }
  }

  private func emit(_ signal: String, _ argument: Variant) {
    connection.emit(signal, of: Interface.service.rawValue, from: ObjectPath.root, [argument])
  }

  private func emit(_ signal: String, _ id: ItemID) {
    connection.emit(
      signal, of: Interface.collection.rawValue, from: ObjectPath.collection(id.collection).text,
      [.objectPath(id.path)])
    guard signal != "ItemChanged", changedLists.insert(id.collection).inserted else { return }
    // Once for many: the list has all items of the collection.
    queue.asyncAfter(deadline: .now() + .milliseconds(50)) { [weak self] in
      guard let self else { return }
      changedLists.remove(id.collection)
      emitProperties(of: .collection(id.collection), .collection)
    }
  }

  private func emitCollections() { emitProperties(of: .service, .service) }

  private func emitProperties(
    of object: ObjectPath, _ interface: Interface, except: Set<String> = []
  ) {
    guard let values = try? properties(of: object) else { return }
    connection.emit(
      "PropertiesChanged", of: Interface.properties, from: object.text,
      [
        .string(interface.rawValue),
        .properties(values.filter { !except.contains($0.key) }), .array([], of: "s"),
      ])
  }

  /// Asks the bus for the process of a client.
  private func process(of client: String) throws(DBusError) -> Int32 {
    let answer = try BlockingAnswer<Variant, DBusError>.wait {
      [connection] () async throws(DBusError) in
      try await connection.call(
        DBusConnection.busMethod("GetConnectionUnixProcessID"), [.string(client)],
        timeout: Self.busTimeout)
    }
    return Int32(bitPattern: answer.children.first?.unsigned32 ?? 0)
  }
}
