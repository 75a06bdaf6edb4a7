import DBus
import SessionToolsBase

/// Finding a collection and its state.
extension Provider {
  /// Returns the path of a collection; `nil` when there is no collection of that name.
  ///
  /// - Throws: `DBusError`, or `unavailable` when several have the same label.
  func path(
    of collection: SecretServiceStore.Collection, until deadline: Deadline
  ) async throws -> String? {
    let alias = collection.name ?? "default"
    let answer = try await call(
      Self.path, .service, "ReadAlias", [.string(alias)], until: deadline)
    guard let path = answer.first?.objectPath else { throw DBusError.unexpected("ReadAlias") }
    if path != Self.noPath { return path }
    // gnome-keyring's collection in memory has no label.
    guard let label = collection.name, !label.isEmpty else { return nil }
    var found: [String] = []
    let collections = try await property("Collections", of: Self.path, .service, until: deadline)
    guard let paths = collections.objectPaths else { throw DBusError.unexpected("Collections") }
    for path in paths
    where try await property("Label", of: path, .collection, until: deadline).text == label {
      found.append(path)
    }
    guard found.count <= 1 else {
      throw StoreError(
        .unavailable, store: "secret service",
        reason: "\(found.count) collections are labeled '\(label)'",
        remedy: "Give the collections different labels")
    }
    return found.first
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
}
