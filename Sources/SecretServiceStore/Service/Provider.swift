import SessionToolsDBus
import Foundation
import SecretStores

/// A provider that was reached: a connection to the bus, and the provider's own name on it.
///
/// Calls go to the provider's unique name. When the provider is restarted, that name is gone and
/// every call fails at once, so nothing is sent in a session that the new provider does not know.
struct Provider: Sendable {
  static let wellKnownName = "org.freedesktop.secrets"
  static let path = "/org/freedesktop/secrets"
  /// The path that means no object.
  static let noPath = "/"

  let bus: SessionBus
  let connection: DBusConnection
  /// The unique name, which no other connection ever has.
  let name: String

  /// Reaches the service's provider, starting it if the bus can.
  ///
  /// - Throws: `DBusError`.
  init(
    on connection: DBusConnection, of bus: SessionBus, until deadline: Deadline
  ) async throws(DBusError) {
    self.bus = bus
    self.connection = connection
    name = try await connection.provider(of: Self.wellKnownName, until: deadline)
  }

  /// Makes a first call, whose answer does not matter.
  ///
  /// gnome-keyring records the caller when a connection's first call arrives, and sometimes does so
  /// too late: if that call is `OpenSession`, it then fails an assertion
  /// (https://gitlab.gnome.org/GNOME/gnome-keyring/-/issues/196); to this call it gives a wrong
  /// answer.
  ///
  /// - Throws: `DBusError`.
  func introduce(until deadline: Deadline) async throws(DBusError) {
    _ = try await call(
      Self.path, .service, "ReadAlias", [.string("default")], until: deadline)
  }

  /// Calls a method of one of the provider's objects, over another connection if one is given.
  ///
  /// - Throws: `DBusError`.
  func call(
    _ object: String, _ interface: ServiceInterface, _ method: String, _ arguments: [Variant],
    until deadline: Deadline, on connection: DBusConnection? = nil
  ) async throws(DBusError) -> [Variant] {
    let call = DBusMethod(name, object, interface.rawValue, method)
    do throws(DBusError) {
      return try await (connection ?? self.connection)
        .call(call, arguments, timeout: deadline.left).children
    } catch let error where error.saysGone {
      let isOfCollection =
        interface == .collection
        || interface == .properties && arguments.first?.text == ServiceInterface.collection.rawValue
      // An alias may name a collection that does not exist.
      throw isOfCollection
        ? DBusError(.remote(DBusError.noCollectionName), error.message) : error
    }
  }

  /// Reads a property of one of the provider's objects.
  ///
  /// - Throws: `DBusError`.
  func property(
    _ name: String, of object: String, _ interface: ServiceInterface, until deadline: Deadline
  ) async throws(DBusError) -> Variant {
    let answer = try await call(
      object, .properties, "Get", [.string(interface.rawValue), .string(name)], until: deadline)
    guard let value = answer.first?.unwrapped else { throw .unexpected("Get") }
    return value
  }
}

/// A provider and a session with it, in which secrets are sealed for the bus.
struct ServiceLink: Sendable {
  /// How many keys are tried before a provider's refusal counts as an error.
  static let maximumKeyCount = 4

  let provider: Provider
  let session: ServiceSession
  let program: ProviderProgram

  /// Reaches the provider and opens a session.
  ///
  /// - Throws: `DBusError`.
  static func open(
    on bus: SessionBus, until deadline: Deadline
  ) async throws(DBusError) -> ServiceLink {
    let provider = try await Provider(
      on: bus.connect(until: deadline), of: bus, until: deadline)
    try await provider.introduce(until: deadline)
    return ServiceLink(
      provider: provider, session: try await session(with: provider, until: deadline),
      program: try await provider.program(until: deadline))
  }

  /// Opens a session, and tries again with a new key when the provider refuses.
  ///
  /// libsecret sends its public key as a number, without leading zeros, and KWallet accepts only
  /// keys of 128 bytes: it refuses the one key in 256 that begins with a zero.
  private static func session(
    with provider: Provider, until deadline: Deadline
  ) async throws(DBusError) -> ServiceSession {
    for _ in 1..<maximumKeyCount {
      do throws(DBusError) {
        return try await ServiceSession.open(with: provider, timeout: deadline.left)
      } catch let error where error.name == "org.freedesktop.DBus.Error.InvalidArgs" {
        continue
      }
    }
    return try await ServiceSession.open(with: provider, timeout: deadline.left)
  }
}

/// The interfaces of the Secret Service.
enum ServiceInterface: String {
  case service = "org.freedesktop.Secret.Service"
  case collection = "org.freedesktop.Secret.Collection"
  case item = "org.freedesktop.Secret.Item"
  case prompt = "org.freedesktop.Secret.Prompt"
  case properties = "org.freedesktop.DBus.Properties"
}
