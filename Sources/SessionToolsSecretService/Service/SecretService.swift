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
  /// Whether a client has locked the store, which then stays locked until a client unlocks it.
  private var isHeld = false
  /// What is known of the collections while the store is locked.
  private var known: (collections: [String: CollectionDescription], aliases: [String: String])?
  /// Why the store could not be opened, if finding that out took long.
  private var lastFailure: (error: DBusError, end: ContinuousClock.Instant)?

  var sessions = Sessions()
  private var prompts: [String: Prompt] = [:]
  private var asking: Asking?
  private var lastQuestion = 0
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
  /// - Throws: `remote` with `AddressInUse` and the program that has the name; `timedOut`,
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
    serving = connection.serve(on: queue) { [weak self] call, reply in
      self?.answer(call, reply)
    }
    let reply = try await connection.call(
      DBusConnection.busMethod("RequestName"),
      // Not in the queue of those that wait for the name.
      [.string(Self.busName), .unsigned32(4)], timeout: Self.busTimeout)
    guard reply.children.first?.unsigned32 == 1 else {
      serving = nil
      throw DBusError(
        .remote("org.freedesktop.DBus.Error.AddressInUse"), try await nameOfOwner())
    }
  }

  /// Returns the program that has the name, for people.
  private func nameOfOwner() async throws(DBusError) -> String {
    let process = try await connection.process(of: Self.busName, timeout: Self.busTimeout)
    let name = FileManager.default.contents(atPath: "/proc/\(process)/comm")
      .map { String(decoding: $0, as: UTF8.self).trimmingCharacters(in: .newlines) }
    return "\(name ?? "another program") (process \(process))"
  }

  private func forget(client: String) {
    sessions.closeAll(of: client)
    prompts = prompts.filter { $0.value.client != client }
    _ = endQuestion(of: client)
  }

  // MARK: Opening and locking

  /// Returns the store's collections, and opens the store if that needs no person.
  ///
  /// - Parameter unlocks: Whether a store is opened that a client has locked.
  /// - Returns: The collections.
  /// - Throws: `IsLocked`, or the store's error.
  func opened(unlocks: Bool = false) throws(DBusError) -> Keyring {
    if let keyring { return keyring }
    if unlocks { isHeld = false }
    guard !isHeld else { throw locked }
    let start = ContinuousClock.now
    if let lastFailure, start < lastFailure.end, !unlocks { throw lastFailure.error }
    do throws(StoreError) {
      return try use(try access.open())
    } catch {
      let refusal = DBusError(error, unlockCommand: access.unlockCommand)
      // Such as an agent that does not answer: no client waits for it again at once.
      lastFailure =
        start.duration(to: .now) > .seconds(1) ? (refusal, .now + .seconds(10)) : nil
      throw refusal
    }
  }

  /// Closes the store if it or its key may not be used any more: once for each call, because it may
  /// ask an agent.
  func closeIfLocked() {
    if keyring != nil, !access.isStillOpen() { close() }
  }

  private var locked: DBusError {
    .isLocked("the store is locked: run \(access.unlockCommand)")
  }

  private func use(_ store: any MigratableStore) throws(StoreError) -> Keyring {
    isHeld = false
    lastFailure = nil
    let events = store.changes()
    let keyring: Keyring
    do throws(StoreError) {
      keyring = try Keyring(store, permanent: Self.defaultCollection) { [unowned self] change in
        emit(change)
      }
    } catch {
      wipeKeys(of: store)
      throw error
    }
    self.keyring = keyring
    watch = Task { [weak self] in
      for await event in events {
        guard let self else { return }
        self.queue.async { self.takeOver(event, of: store) }
      }
    }
    checkLater(store)
    let (before, wasOpen) = (known?.collections ?? [:], known != nil)
    remember(keyring)
    for name in keyring.collections.keys.sorted() {
      emit(
        before[name] == nil ? "CollectionCreated" : "CollectionChanged",
        .objectPath(ObjectPath.collection(name).text))
      emitProperties(of: .collection(name), .collection)
      guard wasOpen else { continue }
      // Clients were told that these are locked, and libsecret leaves out what it knows as locked.
      for id in keyring.ids(in: name) { emitProperties(of: .item(id), .item) }
    }
    if Set(before.keys) != Set(keyring.collections.keys) { emitProperties(of: .service, .service) }
    // Someone may have answered in another way.
    asking?.question.cancel()
    return keyring
  }

  /// Looks from time to time whether the store may still be used, for clients that do not ask.
  private func checkLater(_ store: any MigratableStore) {
    queue.asyncAfter(deadline: .now() + .seconds(5)) { [weak self] in
      guard let self, let keyring, keyring.store as AnyObject === store as AnyObject else {
        return
      }
      closeIfLocked()
      if self.keyring != nil { checkLater(store) }
    }
  }

  private func remember(_ keyring: Keyring) {
    known = (keyring.collections, keyring.aliases)
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
    let locked = ["Locked": Variant.boolean(true)]
    for name in keyring.collections.keys.sorted() {
      for id in keyring.ids(in: name) { emit(locked, of: .item(id), .item) }
      emit(locked, of: .collection(name), .collection)
      emit("CollectionChanged", .objectPath(ObjectPath.collection(name).text))
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

  /// The names of the collections.
  ///
  /// - Throws: `IsLocked` if they are not known yet; the store's error.
  func collectionNames() throws(DBusError) -> [String] {
    let names: [String]
    do throws(DBusError) {
      names = try opened().collections.keys.sorted()
    } catch {
      guard error.saysLocked, let known else { throw error }
      names = known.collections.keys.sorted()
    }
    return names + [Self.transientCollection]
  }

  /// Returns the name of the collection that an alias means; `nil` if there is no such alias.
  ///
  /// - Throws: `IsLocked` if the aliases are not known yet; the store's error.
  func collection(ofAlias alias: String) throws(DBusError) -> String? {
    if alias == Self.transientCollection { return alias }
    var (collections, aliases) = (known?.collections ?? [:], known?.aliases ?? [:])
    do throws(DBusError) {
      let keyring = try opened()
      (collections, aliases) = (keyring.collections, keyring.aliases)
    } catch {
      guard error.saysLocked, known != nil else { throw error }
    }
    if let name = aliases[alias], collections[name] != nil { return name }
    return ["default", Self.defaultCollection].contains(alias) ? Self.defaultCollection : nil
  }

  /// Returns a collection that can be read, and what has it.
  ///
  /// - Throws: `NoSuchObject`, `IsLocked`, or the store's error.
  func openCollection(_ name: String) throws(DBusError) -> (Keyring, CollectionDescription) {
    let keyring = try keyring(of: name)
    guard let description = keyring.collections[name] else {
      throw .noSuchObject(ObjectPath.collection(name).text)
    }
    return (keyring, description)
  }

  /// Returns what a collection is, as far as that is known.
  ///
  /// - Returns: The description, and whether the collection is locked.
  /// - Throws: `NoSuchObject`; `IsLocked` if that is not known while the store is locked; the
  ///   store's error.
  func collection(_ name: String) throws(DBusError) -> (CollectionDescription, isLocked: Bool) {
    do throws(DBusError) {
      return (try openCollection(name).1, false)
    } catch {
      guard error.saysLocked else { throw error }
      if let known = known?.collections[name] { return (known, true) }
      guard name == Self.defaultCollection else { throw error }
      return (CollectionDescription(label: name.capitalized), true)
    }
  }

  /// Returns an item.
  ///
  /// - Throws: `NoSuchObject`, `IsLocked`, or the store's error.
  func item(_ id: ItemID) throws(DBusError) -> (Keyring, ItemDescription) {
    let keyring = try keyring(of: id.collection)
    guard let description = keyring.description(of: id) else { throw .noSuchObject(id.path) }
    return (keyring, description)
  }

  // MARK: Searching

  /// Returns the paths of the items with some attributes.
  ///
  /// - Throws: `IsLocked`, or the store's error.
  func search(
    _ attributes: Attributes, in collection: String? = nil
  ) throws(DBusError) -> [String] {
    let transient = try transientKeyring().search(attributes, in: collection)
    if collection == Self.transientCollection { return transient.map(\.path) }
    let found = try with(opened()) { keyring throws(StoreError) in
      try keyring.takeOverChanges()
      return keyring.search(attributes, in: collection)
    }
    return (found + transient).map(\.path)
  }

  // MARK: Locking for clients

  /// - Returns: The paths that are unlocked, and the prompt for the others, or `/`.
  func unlock(
    _ paths: [String], for client: String
  ) throws(DBusError) -> (unlocked: [String], prompt: String) {
    let (lockable, transient) = lockable(paths)
    guard !lockable.isEmpty else { return (transient, ObjectPath.none) }
    do throws(DBusError) {
      _ = try opened(unlocks: true)
      return (paths.filter { isThere($0) }, ObjectPath.none)
    } catch {
      guard error.saysLocked else { throw error }
      guard prompts.values.count(where: { $0.client == client }) < Self.maximumPromptCount else {
        throw .limit("this client has \(Self.maximumPromptCount) prompts that wait")
      }
      lastPrompt += 1
      let name = "p\(lastPrompt)"
      prompts[name] = Prompt(client: client, paths: lockable)
      return (transient, ObjectPath.prompt(name).text)
    }
  }

  /// Returns the paths of what may be locked, and of what never is; others are left out.
  private func lockable(_ paths: [String]) -> (lockable: [String], transient: [String]) {
    var (lockable, transient) = ([String](), [String]())
    for path in paths {
      let name: String? =
        switch ObjectPath(path) {
        case .collection(let name)?, .alias(let name)?, .itemOfAlias(let name, _)?: name
        case .item(let id)?: id.collection
        default: nil
        }
      guard let name else { continue }
      if name == Self.transientCollection { transient.append(path) } else { lockable.append(path) }
    }
    return (lockable, transient)
  }

  /// Whether there is an object, in an open store.
  private func isThere(_ path: String) -> Bool {
    ObjectPath(path).map { (try? properties(of: named($0))) != nil } ?? false
  }

  /// Locks the store, of which no part can be locked alone.
  ///
  /// - Returns: The paths that are locked.
  func lock(_ paths: [String]) -> [String] {
    let known = lockable(paths).lockable.filter { keyring == nil || isThere($0) }
    guard !known.isEmpty else { return [] }
    isHeld = true
    close()
    access.forgetKey()
    return known
  }

  // MARK: Questions

  /// The question that is being asked, and those who wait for its outcome.
  private struct Asking {
    let number: Int
    let client: String
    let question: KeyringAccess.Question
    var waiters: [@Sendable (_ isOpen: Bool) -> Void] = []
  }

  /// Has a person unlock the store, together with all who wait for that.
  ///
  /// - Parameters:
  ///   - client: The client, where the person is if no question is being asked yet.
  ///   - done: Called once with whether the store is open, when the person has answered.
  /// - Throws: `IsLocked`, which says what to run, if no person can be asked.
  func ask(
    for client: String, _ done: @escaping @Sendable (_ isOpen: Bool) -> Void
  ) throws(DBusError) {
    if asking == nil {
      guard let question = access.question(try process(of: client)) else { throw locked }
      lastQuestion += 1
      let number = lastQuestion
      asking = Asking(number: number, client: client, question: question)
      Thread.detachNewThread { [self] in
        let result = Result { () throws(StoreError) in try question.open() }
        queue.async { self.answered(number, result) }
      }
      lookWhileAsking(number)
    }
    asking?.waiters.append(done)
  }

  /// Looks from time to time whether the store can be opened without the person who is asked, as
  /// after `unlock` in another login.
  private func lookWhileAsking(_ number: Int) {
    queue.asyncAfter(deadline: .now() + .seconds(1)) { [weak self] in
      guard let self, asking?.number == number else { return }
      if (try? opened()) == nil { lookWhileAsking(number) }
    }
  }

  /// Answers those who wait for a question, which has left the terminal.
  private func answered(_ number: Int, _ result: Result<any MigratableStore, StoreError>) {
    if case .success(let store) = result {
      // Of two, the one that was opened last, whose key and place are known.
      close()
      if (try? use(store)) == nil { wipeKeys(of: store) }
    }
    guard let asking, asking.number == number else { return }
    self.asking = nil
    for done in asking.waiters { done(keyring != nil) }
  }

  /// Ends a client's question, if it is being asked.
  ///
  /// - Returns: Whether those who wait for it are about to be answered.
  func endQuestion(of client: String) -> Bool {
    guard let asking, asking.client == client else { return false }
    asking.question.cancel()
    return true
  }

  // MARK: Prompts

  private static let maximumPromptCount = 64

  /// A question that a client may have asked, once.
  private struct Prompt {
    let client: String
    let paths: [String]
    var isShown = false
  }

  private func prompt(_ name: String, of client: String) throws(DBusError) -> Prompt {
    guard let prompt = prompts[name], prompt.client == client else {
      throw .noSuchObject(ObjectPath.prompt(name).text)
    }
    return prompt
  }

  func hasPrompt(_ name: String) -> Bool { prompts[name] != nil }

  /// Asks a person, and sends the client the outcome later.
  ///
  /// - Throws: `NoSuchObject` for another client's; `IsLocked`, which says what to run, if no
  ///   person can be asked.
  func showPrompt(_ name: String, to client: String) throws(DBusError) {
    guard try !prompt(name, of: client).isShown else { return }
    // Someone may have unlocked it meanwhile.
    if (try? opened(unlocks: true)) != nil { return complete(name, isDismissed: false) }
    do throws(DBusError) {
      try ask(for: client) { [unowned self] in complete(name, isDismissed: !$0) }
    } catch {
      prompts[name] = nil
      throw error
    }
    prompts[name]?.isShown = true
  }

  private func complete(_ name: String, isDismissed: Bool) {
    guard let prompt = prompts.removeValue(forKey: name) else { return }
    let paths = isDismissed ? [] : prompt.paths.filter { isThere($0) }
    connection.emit(
      "Completed", of: Interface.prompt.rawValue, from: ObjectPath.prompt(name).text,
      to: prompt.client, [.boolean(isDismissed), .variant(.objectPaths(paths))])
  }

  /// - Throws: `NoSuchObject` for another client's.
  func dismissPrompt(_ name: String, of client: String) throws(DBusError) {
    _ = try prompt(name, of: client)
    complete(name, isDismissed: true)
    _ = endQuestion(of: client)
  }

  // MARK: Signals

  private func emit(_ change: Keyring.Change) {
    switch change {
    case .collectionCreated(let name):
      emit("CollectionCreated", .objectPath(ObjectPath.collection(name).text))
      emitProperties(of: .service, .service)
    case .collectionDeleted(let name):
      emit("CollectionDeleted", .objectPath(ObjectPath.collection(name).text))
      emitProperties(of: .service, .service)
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

  private func emitProperties(
    of object: ObjectPath, _ interface: Interface, except: Set<String> = []
  ) {
    guard let values = try? properties(of: object) else { return }
    emit(values.filter { !except.contains($0.key) }, of: object, interface)
  }

  private func emit(
    _ values: [String: Variant], of object: ObjectPath, _ interface: Interface
  ) {
    connection.emit(
      "PropertiesChanged", of: Interface.properties, from: object.text,
      [.string(interface.rawValue), .properties(values), .array([], of: "s")])
  }

  /// Records a read of the store, if that is wanted.
  func note(_ id: ItemID, _ outcome: Result<Bool, StoreError>, for client: String) {
    guard id.collection != Self.transientCollection, let noteRead = access.noteRead,
      let name = try? Keyring.name(of: id)
    else { return }
    // A client that is gone has no process.
    noteRead(name, outcome, (try? process(of: client)) ?? 0)
  }

  /// Asks the bus for the process of a client.
  private func process(of client: String) throws(DBusError) -> Int32 {
    let process = try BlockingAnswer<UInt32, DBusError>.wait {
      [connection] () async throws(DBusError) in
      try await connection.process(of: client, timeout: Self.busTimeout)
    }
    return Int32(bitPattern: process)
  }
}
