import SessionToolsDBus
import SecretStores

/// One operation of a store, with a provider that was reached.
struct Operation: Sendable {
  let store: SecretServiceStore
  let link: ServiceLink
  let deadline: Deadline

  var provider: Provider { link.provider }

  /// Returns the path of the store's collection: of the default one, new items go there.
  ///
  /// - Throws: `unavailable` when there is no such collection; `locked` and similar errors when a
  ///   locked one may have its name.
  func collection() async throws -> String {
    try await collection(asking: store.options.prompts)
  }

  /// As ``collection()``, with another policy.
  func collection(asking prompts: SecretServiceStore.Options.Prompts) async throws -> String {
    if let path = try await provider.path(of: store.collection, until: deadline) { return path }
    for locked in try await collectionsOfUnknownLabel() {
      do {
        try await unlock(locked, asking: prompts)
      } catch let error as StoreError where error.code == .locked {
        let name = try await provider.names(of: [locked], until: deadline)[0]
        throw StoreError(
          .locked, store: store.name,
          reason: "no open collection has this name, and '\(name)' is locked",
          remedy: error.remedy
        ).with(.lockedCollection(store.collection.name))
      }
      if let path = try await provider.path(of: store.collection, until: deadline) { return path }
    }
    throw try await noCollection()
  }

  /// Returns the locked collections that may have the store's name when they are unlocked.
  private func collectionsOfUnknownLabel() async throws -> [String] {
    guard store.collection.name != nil, link.program.changesLabels else { return [] }
    return try await provider.locked(
      among: provider.collections(until: deadline), until: deadline)
  }

  private func noCollection() async throws -> StoreError {
    let all = try await provider.collections(until: deadline)
    let names = try await provider.names(of: all, until: deadline).sorted()
    guard let name = store.collection.name, !names.isEmpty else { return store.noCollection() }
    return StoreError(
      .unavailable, store: store.name,
      reason: "the service has no collection '\(name)', only "
        + names.map { "'\($0)'" }.joined(separator: ", "),
      remedy: "Name one of these, or make one with the keyring's own program: Seahorse, KeePassXC "
        + "or KWalletManager")
  }

  /// Returns whether the collection exists and is unlocked.
  func availability() async throws -> SecretServiceStore.Availability {
    do {
      guard let path = try await provider.path(of: store.collection, until: deadline) else {
        return try await collectionsOfUnknownLabel().isEmpty ? .noCollection : .locked
      }
      guard try await provider.isLocked(path, until: deadline) else { return .unlocked }
      return try await provider.isOpenWallet(path, until: deadline) ? .unlocked : .locked
    } catch let error as DBusError where error.saysNoCollection {
      return .noCollection
    }
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
      guard isUnlocked == true else { throw try await locked(collection) }
      return
    }
    try await unlocking(prompts) { () async throws in
      try await locked(collection)
    } _: { promptDeadline in
      try await provider.unlock(collection, until: deadline, promptUntil: promptDeadline)
    }
  }

  /// Returns the error for a locked collection, with its name unless it is the store's own.
  private func locked(_ collection: String) async throws -> StoreError {
    guard try await provider.path(of: store.collection, until: deadline) != collection else {
      return store.locked()
    }
    let name = try await provider.names(of: [collection], until: deadline)[0]
    return store.locked(.named(name))
  }

  /// Unlocks items that a person must allow this program to read.
  ///
  /// - Throws: `locked`, `promptDismissed`, `timedOut` or `cancelled`.
  func allow(_ items: [String]) async throws {
    try await unlocking(store.options.prompts) {
      store.notAllowed()
    } _: { promptDeadline in
      try await provider.allow(items, until: deadline, promptUntil: promptDeadline)
    }
  }

  private func unlocking(
    _ prompts: SecretServiceStore.Options.Prompts,
    else refusal: () async throws -> StoreError,
    _ body: (_ promptDeadline: Deadline?) async throws -> Bool?
  ) async throws {
    guard let isUnlocked = try await asking(prompts, body) else { throw try await refusal() }
    guard isUnlocked else {
      throw StoreError(
        .promptDismissed, store: store.name,
        reason: "the question for the keyring's password was dismissed, or could not be shown",
        remedy: "Try again where a question can be answered, or unlock the keyring yourself"
      ).with(.lockedCollection(store.collection.name))
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
  func value(for name: ItemName) async throws -> SecretBytes? {
    // Read one by one, because their sizes are unknown.
    let lines = try await lines(with: ItemAttributes.identity(of: name), .one, .large)
    guard let path = try await provider.newest(of: Array(lines.keys), until: deadline),
      let line = lines[path]
    else { return nil }
    let item = try line.item.get()
    guard item.name == name else {
      throw store.corrupt("the entry for \(name) contains another item")
    }
    return item.value
  }

  /// Returns the items of a namespace, or of all.
  func items(in namespace: StoreNamespace?) async throws -> [ItemName: SecretBytes] {
    var items = try await smallItems(in: namespace)
    try await add(.large, in: namespace, to: &items)
    return items
  }

  /// Returns the items of a namespace, or of all, that can be read together.
  func smallItems(in namespace: StoreNamespace?) async throws -> [ItemName: SecretBytes] {
    var items: [ItemName: SecretBytes] = [:]
    try await add(.small, in: namespace, to: &items)
    return items
  }

  /// Returns how many items of a size a namespace has, or the collection; reads none of them.
  func count(
    in namespace: StoreNamespace?, _ size: ItemAttributes.Size
  ) async throws -> Int {
    let attributes = ItemAttributes.inNamespace(namespace, size: size)
    return try await items(with: attributes, .all).count
  }

  private func add(
    _ size: ItemAttributes.Size, in namespace: StoreNamespace?,
    to items: inout [ItemName: SecretBytes]
  ) async throws {
    let attributes = ItemAttributes.inNamespace(namespace, size: size)
    for line in try await lines(with: attributes, .all, size).values {
      let (name, value) = try item(in: line, of: namespace)
      // Two items have this name: a separate read finds the one that counts.
      items[name] = items[name] == nil ? value : try await self.value(for: name)
    }
  }

  /// Returns the names of a namespace, or of all.
  ///
  /// The secrets of small items contain their names: asking for the attributes of each would take
  /// many times as long.
  func names(in namespace: StoreNamespace?) async throws -> [ItemName] {
    var keys = Set(try await smallItems(in: namespace).keys)
    let large = ItemAttributes.inNamespace(namespace, size: .large)
    for path in try await items(with: large, .all) {
      if let key = try await name(of: path, in: namespace) { keys.insert(key) }
    }
    return keys.sorted()
  }

  /// Returns the name in an item's attributes; `nil` when the item is gone.
  ///
  /// - Throws: `corrupt` when the attributes are not ours.
  private func name(of path: String, in namespace: StoreNamespace?) async throws -> ItemName? {
    guard let attributes = try await provider.attributes(of: path, until: deadline) else {
      return nil
    }
    guard let name = ItemAttributes.name(of: attributes),
      namespace.map({ $0 == name.namespace }) ?? true
    else {
      throw store.corrupt("the name of an item was changed")
    }
    return name
  }

  /// Returns all names, with the values of small items that are intact.
  func listing() async throws -> StoreListing {
    var (names, values): (Set<ItemName>, [ItemName: SecretBytes]) = ([], [:])
    var omissions: [Omission] = []
    var others = try await items(
      with: ItemAttributes.inNamespace(nil, size: .large), .all)
    let small = try await lines(
      with: ItemAttributes.inNamespace(nil, size: .small), .all, .small)
    for (path, line) in small {
      if let (name, value) = try? line.item.get() {
        // Two items have this name: a later read finds the one that counts.
        if names.insert(name).inserted { values[name] = value } else { values[name] = nil }
      } else {
        // A later read reports why it is unreadable.
        others.append(path)
      }
    }
    for path in others {
      do {
        if let name = try await name(of: path, in: nil) { names.insert(name) }
      } catch let error as StoreError {
        // The label has the names, and shows them even if the attributes do not.
        let label = try await provider.label(of: path, until: deadline) ?? path
        omissions.append(
          Omission(label, reason: "\(error.reason); remove it, for example with Seahorse"))
      }
    }
    return StoreListing(names: names.sorted(), values: values, omissions: omissions)
  }

  /// Returns the item in a line, which must be of a namespace if one is given.
  ///
  /// - Throws: `corrupt` or `unsupportedVersion`.
  private func item(
    in line: KeptLine, of namespace: StoreNamespace?
  ) throws -> (name: ItemName, value: SecretBytes) {
    let item = try line.item.get()
    guard namespace.map({ $0 == item.name.namespace }) ?? true else {
      throw store.corrupt("the item \(item.name) is stored under another name")
    }
    return item
  }
}
