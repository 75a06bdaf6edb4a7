import SessionToolsDBus
import SecretStores

/// Finding a collection and its state.
extension Provider {
  /// Returns the path of a collection; `nil` when there is no collection of that name.
  ///
  /// - Throws: `DBusError`, or `unavailable` when several have the same label.
  func path(
    of collection: SecretServiceStore.Collection, until deadline: Deadline
  ) async throws -> String? {
    guard let name = collection.name else {
      return try await path(ofAlias: "default", until: deadline)
    }
    // First by what no program and no person can change.
    let paths = try await collections(until: deadline)
    if let path = paths.first(where: { Self.lastPart(of: $0) == name }) { return path }
    if let path = try await path(ofAlias: name, until: deadline) { return path }
    // gnome-keyring's collection in memory has no label.
    guard !name.isEmpty else { return nil }
    var found: [String] = []
    for path in paths where try await label(ofCollection: path, until: deadline) == name {
      found.append(path)
    }
    guard found.count <= 1 else {
      let names = found.map { "'\(Self.lastPart(of: $0))'" }.joined(separator: " and ")
      throw StoreError(
        .unavailable, store: "secret service",
        reason: "\(found.count) collections are labeled '\(name)'",
        remedy: "Name the collection \(names), or give them different labels")
    }
    return found.first
  }

  private func path(
    ofAlias alias: String, until deadline: Deadline
  ) async throws(DBusError) -> String? {
    let answer = try await call(
      Self.path, .service, "ReadAlias", [.string(alias)], until: deadline)
    guard let path = answer.first?.objectPath else { throw .unexpected("ReadAlias") }
    return path == Self.noPath ? nil : path
  }

  /// Returns the paths of all collections.
  func collections(until deadline: Deadline) async throws(DBusError) -> [String] {
    let collections = try await property("Collections", of: Self.path, .service, until: deadline)
    guard let paths = collections.objectPaths else { throw .unexpected("Collections") }
    return paths
  }

  /// Returns the paths of the collections that are locked, among some.
  func locked(
    among collections: [String], until deadline: Deadline
  ) async throws(DBusError) -> [String] {
    try await states(of: collections, until: deadline).filter { $0.isLocked == true }.map(\.path)
  }

  /// Returns which of some collections are locked; `nil` for one that is gone.
  func states(
    of collections: [String], until deadline: Deadline
  ) async throws(DBusError) -> [(path: String, isLocked: Bool?)] {
    var states: [(path: String, isLocked: Bool?)] = []
    for path in collections {
      do throws(DBusError) {
        states.append((path, try await isLocked(path, until: deadline)))
      } catch let error where error.saysNoCollection {
        states.append((path, nil))
      }
    }
    return states
  }

  private func label(
    ofCollection path: String, until deadline: Deadline
  ) async throws(DBusError) -> String? {
    do throws(DBusError) {
      return try await property("Label", of: path, .collection, until: deadline).text
    } catch let error where error.saysNoCollection {
      return nil
    }
  }

  /// Returns the names of some collections, as people see and type them: the labels, or the last
  /// parts of the paths of those without labels.
  func names(
    of collections: [String], until deadline: Deadline
  ) async throws(DBusError) -> [String] {
    var names: [String] = []
    for path in collections {
      let label = try await label(ofCollection: path, until: deadline) ?? ""
      names.append(label.isEmpty ? Self.lastPart(of: path) : label)
    }
    return names
  }

  /// Returns the last part of a collection's path, which stays the same when its label changes.
  static func lastPart(of path: String) -> String {
    path.split(separator: "/").last.map(String.init) ?? path
  }

  /// Returns the path of the collection that an item is in.
  static func collection(of item: String) -> String {
    item.split(separator: "/").dropLast().map { "/\($0)" }.joined()
  }

  /// Returns whether a collection is locked.
  func isLocked(_ collection: String, until deadline: Deadline) async throws(DBusError) -> Bool {
    let value = try await property("Locked", of: collection, .collection, until: deadline)
    guard let isLocked = value.boolean else { throw .unexpected("Locked") }
    return isLocked
  }

  /// Returns the paths of all items of a collection that is not locked, also of those that no
  /// search finds: KWallet has no attributes of what its own interface made.
  func items(of collection: String, until deadline: Deadline) async throws(DBusError) -> [String] {
    let value = try await property("Items", of: collection, .collection, until: deadline)
    guard let paths = value.objectPaths else { throw .unexpected("Items") }
    return paths
  }

  /// Returns the paths of the items of a collection with some attributes.
  func search(
    _ collection: String, for attributes: [String: String], until deadline: Deadline
  ) async throws(DBusError) -> [String] {
    let answer = try await call(
      collection, .collection, "SearchItems", [.strings(attributes)], until: deadline)
    guard let paths = answer.first?.objectPaths else { throw .unexpected("SearchItems") }
    return paths
  }

  /// Returns the paths of the items with some attributes in all collections, and of those that the
  /// service reports as locked.
  func search(
    for attributes: [String: String], until deadline: Deadline
  ) async throws(DBusError) -> (open: [String], locked: [String]) {
    let answer = try await call(
      Self.path, .service, "SearchItems", [.strings(attributes)], until: deadline)
    guard answer.count == 2, let open = answer[0].objectPaths, let locked = answer[1].objectPaths
    else { throw .unexpected("SearchItems") }
    return (open, locked)
  }
}

extension ProviderProgram {
  /// Whether a search finds the items of locked collections: the others do not have their
  /// attributes.
  var findsLockedItems: Bool { self == .gnomeKeyring }

  /// Whether a collection that is locked may have another label than when it is unlocked, as
  /// KeePassXC's do: the file's name, and the database's.
  var changesLabels: Bool { self != .gnomeKeyring && self != .kWallet }

  /// Whether it leaves out locked secrets, or refuses to return them, so that an empty one is a
  /// value.
  var withholdsLockedSecrets: Bool { self == .gnomeKeyring || self == .keePassXC }

  /// Whether a search may ask for a password and not end before it was answered, when all
  /// collections are locked: KeePassXC's setting `UnlockBeforeSearch`, which is on by default.
  var asksBeforeSearch: Bool { self == .keePassXC }
}

extension DBusError {
  static let noCollectionName = "org.session-tools.NoCollection"

  /// Whether a call was for a collection that does not exist, or no longer does.
  var saysNoCollection: Bool { name == Self.noCollectionName }
}
