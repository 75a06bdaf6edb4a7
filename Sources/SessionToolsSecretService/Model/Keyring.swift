import Foundation
import SecretStores

/// The collections of a store, and their items.
///
/// All are items of one namespace, so that other programs can work with them: `login.json`
/// describes the collection `login`, `login/4b1d` is the secret of one of its items as it is,
/// `login/4b1d.json` describes that item, and `aliases.json` has the collections' other names.
/// There is an item where there is a secret. `changes.json` is another one after each change here,
/// so that two services of one store take over each other's changes before they answer. The
/// descriptions are kept in memory; a secret is read when it is asked for. One that is too large
/// for a value goes on in `login/4b1d.2`.
///
/// Not for several threads at once.
final class Keyring {
  static let namespace: StoreNamespace = "org.freedesktop.secrets"
  /// The most parts of a secret: more than the bus carries.
  private static let maximumPartCount = 64
  /// How long to wait for another service that makes a change.
  private static let patience = Duration.seconds(10)

  /// A change by this process or another one.
  enum Change {
    case collectionCreated(String)
    case collectionDeleted(String)
    case collectionChanged(String)
    case itemCreated(ItemID)
    case itemDeleted(ItemID)
    case itemChanged(ItemID)
  }

  let store: any MigratableStore
  /// The collection that is always there, so that a client finds one for its first item.
  private let permanent: String
  private let report: (Change) -> Void
  private var isRead = false
  /// By their names in paths.
  private(set) var collections: [String: CollectionDescription] = [:]
  private(set) var aliases: [String: String] = [:]
  private var items: [String: [String: ItemDescription]] = [:]
  /// The fingerprints of the secrets that were stored here, by which they are told from those that
  /// others have stored.
  private var ownSecrets: [ItemID: UInt128] = [:]
  /// What the last change that was taken over has left in `changes.json`.
  private var lastChange: ItemVersion?

  /// Reads all descriptions.
  ///
  /// - Parameters:
  ///   - store: The store.
  ///   - permanent: The name of the collection that is always there.
  ///   - report: Called after each later change, also by other processes.
  /// - Throws: As `SecretStore.names(in:)` and `SecretStore.value(for:)`.
  init(
    _ store: any MigratableStore, permanent: String, report: @escaping (Change) -> Void
  ) throws(StoreError) {
    self.store = store
    self.permanent = permanent
    self.report = report
    try read()
    isRead = true
  }

  // MARK: Reading

  func ids(in collection: String) -> [ItemID] {
    (items[collection] ?? [:]).keys.sorted().map { ItemID(collection: collection, name: $0) }
  }

  func description(of id: ItemID) -> ItemDescription? { items[id.collection]?[id.name] }

  /// Takes over what other services have changed.
  ///
  /// - Throws: As `SecretStore.value(for:)`.
  func takeOverChanges() throws(StoreError) {
    let change = try store.value(for: try Place.changes.name).map { ItemVersion($0) }
    guard change != lastChange else { return }
    try read()
    lastChange = change
  }

  /// Makes a change that depends on what is stored, while no other service makes one.
  ///
  /// - Throws: As `SecretStore.withExclusiveAccess(to:timeout:_:)`.
  private func changing<Result>(
    _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    do {
      return try store.withExclusiveAccess(to: Place.changes.name, timeout: Self.patience) {
        try takeOverChanges()
        return try body()
      }
    } catch let error as StoreError {
      throw error
    } catch {
      preconditionFailure("a store and the closure throw nothing else")
    }
  }

  /// Makes changes, and marks that there are some.
  private func apply(_ changes: [StoreChange]) throws(StoreError) {
    let mark = SecretBytes(utf8: "\"\(Self.newName())\"")
    try store.apply(changes + [.put(mark, for: try Place.changes.name)])
    lastChange = ItemVersion(mark)
  }

  /// Returns the items with some attributes, the one that was changed last first.
  func search(_ attributes: Attributes, in collection: String? = nil) -> [ItemID] {
    var found: [(id: ItemID, modified: UInt64)] = []
    for (name, items) in items where collection == nil || name == collection {
      for (item, description) in items where description.attributes.match(attributes) {
        found.append((ItemID(collection: name, name: item), description.modified))
      }
    }
    return found.sorted { ($1.modified, $0.id.path) < ($0.modified, $1.id.path) }.map(\.id)
  }

  /// Returns the name under which an item's secret is stored.
  ///
  /// - Throws: `invalidName`.
  static func name(of id: ItemID) throws(StoreError) -> ItemName { try Place.secret(id).name }

  /// Reads a secret; `nil` if it was removed meanwhile.
  ///
  /// - Throws: As `SecretStore.value(for:)`.
  func secret(of id: ItemID) throws(StoreError) -> SecretBytes? {
    guard let count = description(of: id)?.parts else {
      return try store.value(for: try Place.secret(id).name)
    }
    var parts: [SecretBytes] = []
    for number in 1...min(max(1, count), Self.maximumPartCount) {
      guard let part = try store.value(for: try Place.part(number, of: id)) else { return nil }
      parts.append(part)
    }
    return SecretBytes(joining: parts)
  }

  // MARK: Changing

  /// Stores an item.
  ///
  /// - Parameters:
  ///   - value: The secret.
  ///   - description: Its label and attributes; the times are set here.
  ///   - collection: The collection.
  ///   - replaces: Whether it takes the place of an item with the same attributes.
  /// - Returns: The item's place.
  /// - Throws: As `SecretStore.apply(_:)`.
  func store(
    _ value: SecretBytes, _ description: ItemDescription, in collection: String, replaces: Bool
  ) throws(StoreError) -> ItemID {
    try changing { () throws(StoreError) in
      try storeNow(value, description, in: collection, replaces: replaces)
    }
  }

  private func storeNow(
    _ value: SecretBytes, _ description: ItemDescription, in collection: String, replaces: Bool
  ) throws(StoreError) -> ItemID {
    var description = description
    let found = replaces ? search(description.attributes, in: collection) : []
    let id =
      found.first { self.description(of: $0)?.attributes == description.attributes }
      ?? ItemID(collection: collection, name: Self.newName())
    description.modified = Self.now
    description.created = self.description(of: id)?.created ?? description.modified
    try put(value, description, for: id)
    return id
  }

  /// Stores another secret for an item.
  ///
  /// - Throws: As `SecretStore.apply(_:)`.
  func setSecret(_ value: SecretBytes, contentType: String, of id: ItemID) throws(StoreError) {
    try changing { () throws(StoreError) in
      guard var description = description(of: id) else { return }
      description.contentType = contentType
      description.modified = Self.now
      try put(value, description, for: id)
    }
  }

  /// Changes what is known of an item.
  ///
  /// - Throws: As `SecretStore.apply(_:)`.
  func change(
    _ id: ItemID, _ change: (inout ItemDescription) -> Void
  ) throws(StoreError) {
    try changing { () throws(StoreError) in
      guard var description = description(of: id) else { return }
      change(&description)
      description.modified = Self.now
      try put(nil, description, for: id)
    }
  }

  private func put(
    _ value: SecretBytes?, _ description: ItemDescription, for id: ItemID
  ) throws(StoreError) {
    var description = description
    var changes: [StoreChange] = []
    if let value {
      let parts = value.parts(ofAtMost: store.traits.maximumValueByteCount)
      for (number, part) in zip(1..., parts) {
        changes.append(.put(part, for: try Place.part(number, of: id)))
      }
      description.parts = parts.count > 1 ? parts.count : nil
      changes += try removals(ofPartsOf: id, after: parts.count)
    }
    changes.append(.put(Self.encoded(description), for: try Place.item(id).name))
    let isNew = self.description(of: id) != description
    try apply(changes)
    ownSecrets[id] = value?.fingerprint ?? ownSecrets[id]
    set(description, of: id)
    // Of the same millisecond as the last one.
    if !isNew { report(.itemChanged(id)) }
  }

  /// - Throws: As `SecretStore.apply(_:)`.
  func remove(_ id: ItemID) throws(StoreError) {
    try apply(try removals(of: id))
    set(nil, of: id)
  }

  private func removals(of id: ItemID) throws(StoreError) -> [StoreChange] {
    try removals(ofPartsOf: id, after: 0) + [.remove(try Place.item(id).name)]
  }

  private func removals(ofPartsOf id: ItemID, after first: Int) throws(StoreError) -> [StoreChange]
  {
    var removals: [StoreChange] = []
    var number = first + 1
    while number <= min(description(of: id)?.parts ?? 1, Self.maximumPartCount) {
      removals.append(.remove(try Place.part(number, of: id)))
      number += 1
    }
    return removals
  }

  /// Makes a collection, whose name in paths has its label, or returns the one with an alias.
  ///
  /// - Throws: As `SecretStore.apply(_:)`.
  func makeCollection(label: String, alias: String?) throws(StoreError) -> String {
    try changing { () throws(StoreError) in
      if let alias, let name = aliases[alias], collections[name] != nil { return name }
      var (name, count) = (label.isEmpty ? "_" : label.asPathStep, 1)
      while collections[name] != nil || items[name] != nil || Place.isReserved(name) {
        count += 1
        name = "\(label) \(count)".asPathStep
      }
      let description = CollectionDescription(label: label, created: Self.now, modified: Self.now)
      var changes = [
        StoreChange.put(Self.encoded(description), for: try Place.collection(name).name)
      ]
      var aliases = aliases
      if let alias {
        aliases[alias] = name
        changes.append(.put(Self.encoded(aliases), for: try Place.aliases.name))
      }
      try apply(changes)
      self.aliases = aliases
      set(description, ofCollection: name)
      return name
    }
  }

  /// - Throws: As `SecretStore.apply(_:)`.
  func setLabel(_ label: String, ofCollection name: String) throws(StoreError) {
    try changing { () throws(StoreError) in
      guard var description = collections[name] else { return }
      description.label = ExactText(label)
      description.modified = Self.now
      if description.created == 0 { description.created = description.modified }
      try apply([.put(Self.encoded(description), for: try Place.collection(name).name)])
      set(description, ofCollection: name)
    }
  }

  /// Gives a collection another name, or takes the name away.
  ///
  /// - Throws: As `SecretStore.apply(_:)`.
  func setAlias(_ alias: String, to collection: String?) throws(StoreError) {
    try changing { () throws(StoreError) in
      var aliases = aliases
      aliases[alias] = collection
      guard aliases != self.aliases else { return }
      try apply([.put(Self.encoded(aliases), for: try Place.aliases.name)])
      self.aliases = aliases
    }
  }

  /// Removes a collection with its items; the permanent one is then empty.
  ///
  /// - Throws: As `SecretStore.apply(_:)`; some of the items are removed then, and the collection
  ///   is still there with the others.
  func removeCollection(_ name: String) throws(StoreError) {
    try changing { () throws(StoreError) in
      // Each item is two, and there is a mark.
      let step = max(1, min(500, (store.traits.maximumChangeCount - 1) / 2))
      var left = ids(in: name)[...]
      while !left.isEmpty {
        var changes: [StoreChange] = []
        for id in left.prefix(step) { changes += try removals(of: id) }
        try apply(changes)
        for id in left.prefix(step) { set(nil, of: id) }
        left = left.dropFirst(step)
      }
      var changes = [StoreChange.remove(try Place.collection(name).name)]
      let others = aliases.filter { $0.value != name }
      if others != aliases {
        changes.append(.put(Self.encoded(others), for: try Place.aliases.name))
      }
      try apply(changes)
      aliases = others
      set(nil, ofCollection: name)
    }
  }

  // MARK: What others change

  /// Takes over a change that another program made.
  ///
  /// - Throws: As `SecretStore.value(for:)`.
  func takeOver(_ event: StoreEvent) throws(StoreError) {
    guard case .changed(let names) = event else { return try read() }
    for name in names { try takeOver(name) }
  }

  private func takeOver(_ name: ItemName) throws(StoreError) {
    guard let place = Place(name) else { return }
    let value = try store.value(for: name)
    switch place {
    case .changes: break
    case .aliases: aliases = value.flatMap { Self.decoded($0) } ?? [:]
    case .collection(let name):
      set(value.map { Self.decoded($0) ?? CollectionDescription(label: name) }, ofCollection: name)
    case .item(let id), .secret(let id):
      let secret = try store.value(for: try Place.secret(id).name)
      let text = try store.value(for: try Place.item(id).name)
      set(secret.map { _ in text.flatMap { Self.decoded($0) } ?? Self.unknown(id) }, of: id)
      if case .secret = place, let secret, secret.fingerprint != ownSecrets[id] {
        ownSecrets[id] = secret.fingerprint
        report(.itemChanged(id))
      }
    }
  }

  private func read() throws(StoreError) {
    let names = try store.names(in: Self.namespace)
    var (collections, aliases) = ([String: CollectionDescription](), [String: String]())
    var items: [String: [String: ItemDescription]] = [:]
    var described: [(ItemName, Place)] = []
    for name in names {
      switch Place(name) {
      case nil: break
      case .secret(let id): items[id.collection, default: [:]][id.name] = Self.unknown(id)
      case let place?: described.append((name, place))
      }
    }
    let values = try values(of: described.map(\.0))
    for ((_, place), value) in zip(described, values) {
      guard let value else { continue }
      switch place {
      case .aliases: aliases = Self.decoded(value) ?? [:]
      case .collection(let name):
        collections[name] = Self.decoded(value) ?? CollectionDescription(label: name)
      case .item(let id):
        if items[id.collection]?[id.name] != nil {
          items[id.collection]?[id.name] = Self.decoded(value) ?? Self.unknown(id)
        }
      case .changes: lastChange = ItemVersion(value)
      case .secret: break
      }
    }
    for name in Set(items.keys).union([permanent]) where collections[name] == nil {
      collections[name] = CollectionDescription(label: name.capitalized)
    }
    self.aliases = aliases
    for name in Set(self.collections.keys).union(collections.keys) {
      set(collections[name], ofCollection: name)
    }
    for collection in Set(self.items.keys).union(items.keys) {
      let (old, new) = (self.items[collection] ?? [:], items[collection] ?? [:])
      for name in Set(old.keys).union(new.keys) {
        set(new[name], of: ItemID(collection: collection, name: name))
      }
    }
  }

  /// Reads the values of some names, many at once where the store can.
  private func values(of names: [ItemName]) throws(StoreError) -> [SecretBytes?] {
    var values: [SecretBytes?] = []
    while values.count < names.count {
      var next = try store.values(ofFirst: names[values.count...])
      if next.isEmpty { next = [nil] }
      for (position, value) in next.enumerated() where value == nil {
        next[position] = try store.value(for: names[values.count + position])
      }
      values += next
    }
    return values
  }

  private func set(_ description: ItemDescription?, of id: ItemID) {
    let old = items[id.collection]?[id.name]
    if description == nil { ownSecrets[id] = nil }
    guard old != description else { return }
    items[id.collection, default: [:]][id.name] = description
    if description != nil, collections[id.collection] == nil {
      set(CollectionDescription(label: id.collection.capitalized), ofCollection: id.collection)
    }
    guard isRead else { return }
    report(
      old == nil ? .itemCreated(id) : description == nil ? .itemDeleted(id) : .itemChanged(id))
  }

  private func set(_ description: CollectionDescription?, ofCollection name: String) {
    let isKept = name == permanent || !(items[name] ?? [:]).isEmpty
    let description =
      description ?? (isKept ? CollectionDescription(label: name.capitalized) : nil)
    let old = collections[name]
    guard old != description else { return }
    collections[name] = description
    if description == nil { items[name] = nil }
    guard isRead else { return }
    report(
      old == nil
        ? .collectionCreated(name)
        : description == nil ? .collectionDeleted(name) : .collectionChanged(name))
  }

  /// What is shown of an item without a description that can be read.
  private static func unknown(_ id: ItemID) -> ItemDescription {
    ItemDescription(label: ExactText(id.name))
  }

  private static var now: UInt64 { UInt64(max(0, Date().timeIntervalSince1970 * 1000)) }

  /// Returns a name that no item has, whichever process makes the other one.
  private static func newName() -> String {
    let digits = String(UInt64.random(in: 0...UInt64.max), radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  private static func encoded(_ value: some Encodable) -> SecretBytes {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(value) else {
      preconditionFailure("texts and numbers can be encoded")
    }
    return SecretBytes(data)
  }

  private static func decoded<Value: Decodable>(_ bytes: SecretBytes) -> Value? {
    try? JSONDecoder().decode(Value.self, from: bytes.sharedData)
  }
}

extension SecretBytes {
  /// Returns the bytes in parts of a maximum size; at least one.
  fileprivate func parts(ofAtMost byteCount: Int) -> [SecretBytes] {
    guard self.byteCount > byteCount else { return [self] }
    return withBytes { bytes in
      unsafe bytes.withUnsafeBytes { bytes in
        stride(from: 0, to: bytes.count, by: byteCount).map { start in
          unsafe SecretBytes(
            UnsafeRawBufferPointer(rebasing: bytes[start..<min(start + byteCount, bytes.count)]))
        }
      }
    }
  }
}

/// What is kept under a name of the namespace.
private enum Place {
  case aliases
  case changes
  case collection(String)
  case item(ItemID)
  case secret(ItemID)

  private static let ending = ".json"

  /// Whether no collection can have a name.
  static func isReserved(_ name: String) -> Bool {
    ["aliases", "changes", SecretService.transientCollection].contains(name)
  }

  /// `nil` for a name of another form, which no path can lead to.
  init?(_ name: ItemName) {
    guard name.namespace == Keyring.namespace else { return nil }
    let isDescription = name.identifier.hasSuffix(Self.ending)
    let text = isDescription ? name.identifier.dropLast(Self.ending.count) : name.identifier[...]
    let steps = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard steps.allSatisfy(\.isPathStep) else { return nil }
    switch (steps.count, isDescription) {
    case (1, true) where steps[0] == "aliases": self = .aliases
    case (1, true) where steps[0] == "changes": self = .changes
    case (_, _) where Self.isReserved(steps[0]): return nil
    case (1, true): self = .collection(steps[0])
    case (2, true): self = .item(ItemID(collection: steps[0], name: steps[1]))
    case (2, false): self = .secret(ItemID(collection: steps[0], name: steps[1]))
    default: return nil
    }
  }

  /// Returns the name of a part of a secret; the first is the secret's own.
  static func part(_ number: Int, of id: ItemID) throws(StoreError) -> ItemName {
    guard number > 1 else { return try Place.secret(id).name }
    return try ItemName("\(id.collection)/\(id.name).\(number)", in: Keyring.namespace)
  }

  var name: ItemName {
    get throws(StoreError) {
      let identifier =
        switch self {
        case .aliases: "aliases\(Self.ending)"
        case .changes: "changes\(Self.ending)"
        case .collection(let name): "\(name)\(Self.ending)"
        case .item(let id): "\(id.collection)/\(id.name)\(Self.ending)"
        case .secret(let id): "\(id.collection)/\(id.name)"
        }
      return try ItemName(identifier, in: Keyring.namespace)
    }
  }
}
