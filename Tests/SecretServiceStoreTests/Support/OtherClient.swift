import SessionToolsBusTestSupport
import SessionToolsDBus
import SessionToolsBase
import SessionToolsTestSupport

/// Another program that calls the service's methods.
struct OtherClient {
  static let provider = "org.freedesktop.secrets"
  static let root = "/org/freedesktop/secrets"

  private let connection: DBusConnection

  init(on bus: PrivateBus) async throws {
    connection = try await DBusConnection.open(address: bus.address, timeout: patience)
  }

  /// Calls a method of the interface that the service has at a path.
  @discardableResult
  func call(
    _ path: String, _ interface: String, _ method: String, _ arguments: [Variant] = []
  ) async throws -> [Variant] {
    let method = DBusMethod(
      Self.provider, path, "org.freedesktop.Secret.\(interface)", method)
    return try await connection.call(method, arguments, timeout: patience).children
  }

  /// Returns the path of a collection with an alias.
  func collection(_ alias: String = "default") async throws -> String {
    try await call(Self.root, "Service", "ReadAlias", [.string(alias)])[0].text ?? ""
  }

  /// Returns the paths of all collections.
  func collections() async throws -> [String] {
    try await property("Collections", of: Self.root, "Service").texts ?? []
  }

  /// Makes another collection of gnome-keyring the default one.
  func setDefault(_ collection: String) async throws {
    try await call(
      Self.root, "Service", "SetAlias", [.string("default"), .objectPath(collection)])
  }

  /// Locks the default collection, or another one.
  func lock(_ collection: String? = nil) async throws {
    let path = if let collection { collection } else { try await self.collection() }
    let answer = try await call(Self.root, "Service", "Lock", [.objectPaths([path])])
    // KeePassXC locks in a prompt that asks no question.
    if let prompt = answer.last?.objectPath, prompt != "/" {
      try await call(prompt, "Prompt", "Prompt", [.string("")])
    }
  }

  /// Returns the paths of all items of the default collection, including other programs' items.
  func items() async throws -> [String] {
    try await property("Items", of: collection(), "Collection").texts ?? []
  }

  func isLocked(_ collection: String? = nil) async throws -> Bool {
    let path = if let collection { collection } else { try await self.collection() }
    return try await property("Locked", of: path, "Collection").boolean == true
  }

  func attributes(of item: String) async throws -> [String: String] {
    try await property("Attributes", of: item, "Item").entries.compactMapValues(\.text)
  }

  private func property(
    _ name: String, of object: String, _ interface: String
  ) async throws -> Variant {
    let method = DBusMethod(Self.provider, object, "org.freedesktop.DBus.Properties", "Get")
    return try await connection.call(
      method, [.string("org.freedesktop.Secret.\(interface)"), .string(name)],
      timeout: patience
    ).children[0].unwrapped
  }
}
