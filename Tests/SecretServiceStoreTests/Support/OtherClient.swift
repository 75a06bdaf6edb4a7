import BusTestSupport
import DBus
import SessionToolsBase
import TestSupport

/// The service as another program sees it, call by call.
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

  /// The path of a collection by its alias.
  func collection(_ alias: String = "default") async throws -> String {
    try await call(Self.root, "Service", "ReadAlias", [.string(alias)])[0].text ?? ""
  }

  /// Locks the default collection.
  func lock() async throws {
    let answer = try await call(
      Self.root, "Service", "Lock", [.objectPaths([try await collection()])])
    // KeePassXC does it in a prompt that asks nobody.
    if let prompt = answer.last?.objectPath, prompt != "/" {
      try await call(prompt, "Prompt", "Prompt", [.string("")])
    }
  }

  /// The paths of all items of the default collection, whoever made them.
  func items() async throws -> [String] {
    try await property("Items", of: collection(), "Collection").texts ?? []
  }

  func isLocked() async throws -> Bool {
    try await property("Locked", of: collection(), "Collection").boolean == true
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
