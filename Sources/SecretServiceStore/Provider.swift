import DBus
import Foundation
import SessionToolsBase

/// A provider that was reached: a connection to the bus, and the provider's own name on it.
///
/// Calls go to the provider's unique name. When it is restarted, that name is gone and every call
/// fails at once, so that nothing is sent in a session that the new one does not know.
struct Provider: Sendable {
  static let wellKnownName = "org.freedesktop.secrets"
  static let path = "/org/freedesktop/secrets"
  /// The path that stands for no object.
  static let noPath = "/"

  let bus: SessionBus
  let connection: DBusConnection
  /// The name that nobody else ever has.
  let name: String

  /// Reaches whoever provides the service, starting it if the bus knows how.
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
  /// gnome-keyring notes who calls when the first call of a connection comes, and at times it notes
  /// it too late: it ends by an assertion when that call is `OpenSession`
  /// (https://gitlab.gnome.org/GNOME/gnome-keyring/-/issues/196), and gives a wrong answer to this
  /// one.
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
    let method = DBusMethod(name, object, interface.rawValue, method)
    return try await (connection ?? self.connection)
      .call(method, arguments, timeout: deadline.left).children
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

/// A provider and a session with it, which secrets are sealed in on their way.
struct ServiceLink: Sendable {
  /// How many keys a provider is offered before what it says against them is believed.
  static let largestKeyCount = 4

  let provider: Provider
  let session: ServiceSession

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
      provider: provider, session: try await session(with: provider, until: deadline))
  }

  /// Opens a session, and another one with another key when the provider refuses the first.
  ///
  /// libsecret sends its public key as a number, without the zeros in front, and KWallet takes only
  /// keys that have 128 bytes: it refuses one in 256, which begins with a zero.
  private static func session(
    with provider: Provider, until deadline: Deadline
  ) async throws(DBusError) -> ServiceSession {
    for _ in 1..<largestKeyCount {
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
