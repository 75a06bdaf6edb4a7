import DBus
import SessionToolsBase

/// One operation of a store, with a provider that was reached.
struct Operation: Sendable {
  let store: SecretServiceStore
  let link: ServiceLink
  let deadline: Deadline

  var provider: Provider { link.provider }

  /// Returns the path of the store's collection.
  ///
  /// - Throws: `unavailable` when there is no such collection.
  func collection() async throws -> String {
    if let path = try await provider.path(of: store.collection, until: deadline) { return path }
    let what = store.collection.name.map { "no collection '\($0)'" } ?? "no default collection"
    throw StoreError(
      .unavailable, store: store.name, reason: "the service has \(what)",
      remedy: "Make one with the keyring's own program: Seahorse, KeePassXC or KWalletManager")
  }

  /// Returns whether the collection exists and is unlocked.
  func availability() async throws -> SecretServiceStore.Availability {
    guard let path = try await provider.path(of: store.collection, until: deadline) else {
      return .noCollection
    }
    guard try await provider.isLocked(path, until: deadline) else { return .unlocked }
    return try await provider.isOpenWallet(path, until: deadline) ? .unlocked : .locked
  }

  /// Unlocks a locked collection, if that needs no question, or the store's policy allows
  /// questions.
  ///
  /// - Returns: Whether it was locked.
  /// - Throws: `locked`, `promptDismissed`, `timedOut` or `cancelled`.
  @discardableResult
  func unlockIfLocked(_ collection: String) async throws -> Bool {
    guard try await provider.isLocked(collection, until: deadline) else { return false }
    try await unlock(collection, asking: store.options.prompts)
    return true
  }

  /// Unlocks a collection.
  ///
  /// - Throws: `locked`, `promptDismissed`, `timedOut` or `cancelled`.
  func unlock(
    _ collection: String, asking prompts: SecretServiceStore.Options.Prompts
  ) async throws {
    // An open wallet needs a prompt, but asks no question.
    if prompts == .never, try await provider.isOpenWallet(collection, until: deadline) {
      let isUnlocked = try await provider.unlock(
        collection, until: deadline, promptUntil: deadline)
      guard isUnlocked == true else { throw store.locked() }
      return
    }
    try await unlocking(prompts, else: store.locked()) { promptDeadline in
      try await provider.unlock(collection, until: deadline, promptUntil: promptDeadline)
    }
  }

  /// Unlocks items that a person must allow this program to read.
  ///
  /// - Throws: `locked`, `promptDismissed`, `timedOut` or `cancelled`.
  func allow(_ items: [String]) async throws {
    try await unlocking(store.options.prompts, else: store.notAllowed()) { promptDeadline in
      try await provider.allow(items, until: deadline, promptUntil: promptDeadline)
    }
  }

  private func unlocking(
    _ prompts: SecretServiceStore.Options.Prompts, else refusal: StoreError,
    _ body: (_ promptDeadline: Deadline?) async throws -> Bool?
  ) async throws {
    guard let isUnlocked = try await asking(prompts, body) else { throw refusal }
    guard isUnlocked else {
      throw StoreError(
        .promptDismissed, store: store.name,
        reason: "the question for the keyring's password was dismissed, or could not be shown",
        remedy: "Try again where a question can be answered, or unlock the keyring yourself")
    }
  }

  /// Runs a call that a person may have to answer; that time does not count as the provider's.
  ///
  /// The call receives the deadline for the person's answer, or `nil` when no one may be asked.
  func asking<Result>(
    _ prompts: SecretServiceStore.Options.Prompts,
    _ body: (_ promptDeadline: Deadline?) async throws -> Result
  ) async throws -> Result {
    guard prompts == .ifNeeded else { return try await body(nil) }
    return try await deadline.paused {
      try await body(Deadline(in: store.options.promptTimeout))
    }
  }

  /// Returns the paths of the items with some attributes, in a collection that is not locked; of
  /// all items for no attributes, with which KeePassXC finds nothing, and KWallet only what has
  /// attributes.
  func items(with attributes: [String: String], in collection: String) async throws -> [String] {
    func find() async throws -> [String] {
      attributes.isEmpty
        ? try await provider.items(of: collection, until: deadline)
        : try await provider.search(collection, for: attributes, until: deadline)
    }
    let paths = try await find()
    if !paths.isEmpty { return paths }
    // A locked collection also finds nothing, and it may be locked again at any time.
    try await unlockIfLocked(collection)
    let found = try await find()
    if found.isEmpty, try await provider.isLocked(collection, until: deadline) {
      throw store.locked()
    }
    return found
  }

  /// Returns the value of an item.
  func value(for key: StoreKey) async throws -> SecretBytes? {
    let collection = try await collection()
    // Read one by one, because their sizes are unknown.
    let lines = try await lines(
      with: ItemAttributes.identity(of: key), .large, in: collection)
    guard let path = try await provider.newest(of: Array(lines.keys), until: deadline),
      let line = lines[path]
    else { return nil }
    let item = try line.item.get()
    guard item.key == key else { throw store.corrupt("the entry for \(key) contains another item") }
    return item.value
  }

  /// Returns the items of a namespace, or of all.
  func items(in namespace: StoreNamespace?) async throws -> [StoreKey: SecretBytes] {
    var items = try await smallItems(in: namespace)
    try await add(.large, in: namespace, to: &items)
    return items
  }

  /// Returns the items of a namespace, or of all, that can be read together.
  func smallItems(in namespace: StoreNamespace?) async throws -> [StoreKey: SecretBytes] {
    var items: [StoreKey: SecretBytes] = [:]
    try await add(.small, in: namespace, to: &items)
    return items
  }

  /// Returns how many items of a size a namespace has, or the collection; reads none of them.
  func count(
    in namespace: StoreNamespace?, _ size: ItemAttributes.Size
  ) async throws -> Int {
    let attributes = ItemAttributes.inNamespace(namespace, size: size)
    return try await items(with: attributes, in: collection()).count
  }

  private func add(
    _ size: ItemAttributes.Size, in namespace: StoreNamespace?,
    to items: inout [StoreKey: SecretBytes]
  ) async throws {
    let attributes = ItemAttributes.inNamespace(namespace, size: size)
    for line in try await lines(with: attributes, size, in: try await collection()).values {
      let (key, value) = try item(in: line, of: namespace)
      // Two items have this name: a separate read finds the one that counts.
      items[key] = items[key] == nil ? value : try await self.value(for: key)
    }
  }

  /// Returns the keys of a namespace, or of all.
  ///
  /// The secrets of small items contain their keys: asking for the attributes of each would take
  /// many times as long.
  func keys(in namespace: StoreNamespace?) async throws -> [StoreKey] {
    var keys = Set(try await smallItems(in: namespace).keys)
    let collection = try await collection()
    let large = ItemAttributes.inNamespace(namespace, size: .large)
    for path in try await items(with: large, in: collection) {
      if let key = try await key(of: path, in: namespace) { keys.insert(key) }
    }
    return keys.sorted()
  }

  /// Returns the key in an item's attributes; `nil` when the item is gone.
  ///
  /// - Throws: `corrupt` when the attributes are not ours.
  private func key(of path: String, in namespace: StoreNamespace?) async throws -> StoreKey? {
    guard let attributes = try await provider.attributes(of: path, until: deadline) else {
      return nil
    }
    guard let key = ItemAttributes.key(of: attributes),
      namespace.map({ $0 == key.namespace }) ?? true
    else {
      throw store.corrupt("the name of an item was changed")
    }
    return key
  }

  /// Returns all keys, with the values of small items that are intact.
  func listing() async throws -> StoreListing {
    let collection = try await collection()
    var (keys, values): (Set<StoreKey>, [StoreKey: SecretBytes]) = ([], [:])
    var omissions: [Omission] = []
    var others = try await items(
      with: ItemAttributes.inNamespace(nil, size: .large), in: collection)
    let small = try await lines(
      with: ItemAttributes.inNamespace(nil, size: .small), .small, in: collection)
    for (path, line) in small {
      if let (key, value) = try? line.item.get() {
        // Two items have this name: a later read finds the one that counts.
        if keys.insert(key).inserted { values[key] = value } else { values[key] = nil }
      } else {
        // A later read reports why it is unreadable.
        others.append(path)
      }
    }
    for path in others {
      do {
        if let key = try await key(of: path, in: nil) { keys.insert(key) }
      } catch let error as StoreError {
        // The label has the names, and shows them even if the attributes do not.
        let label = try await provider.label(of: path, until: deadline) ?? path
        omissions.append(
          Omission(label, reason: "\(error.reason); remove it, for example with Seahorse"))
      }
    }
    return StoreListing(keys: keys.sorted(), values: values, omissions: omissions)
  }

  /// Returns the item in a line, which must be of a namespace if one is given.
  ///
  /// - Throws: `corrupt` or `unsupportedVersion`.
  private func item(
    in line: KeptLine, of namespace: StoreNamespace?
  ) throws -> (key: StoreKey, value: SecretBytes) {
    let item = try line.item.get()
    guard namespace.map({ $0 == item.key.namespace }) ?? true else {
      throw store.corrupt("the item \(item.key) is stored under another name")
    }
    return item
  }
}
