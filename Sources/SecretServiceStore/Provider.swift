import DBus
import Foundation
import SessionToolsBase
import Synchronization

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
    do throws(DBusError) {
      name = try await Self.uniqueName(on: connection, until: deadline)
    } catch let error where error.name == "org.freedesktop.DBus.Error.NameHasNoOwner" {
      // Starting is the bus's work; by the time it answers, the name has an owner.
      _ = try await connection.call(
        Self.method("StartServiceByName"), [.string(Self.wellKnownName), .unsigned32(0)],
        timeout: deadline.left)
      name = try await Self.uniqueName(on: connection, until: deadline)
    }
  }

  private static func uniqueName(
    on connection: DBusConnection, until deadline: Deadline
  ) async throws(DBusError) -> String {
    let answer = try await connection.call(
      method("GetNameOwner"), [.string(wellKnownName)], timeout: deadline.left)
    guard let name = answer.children.first?.text else { throw .unexpected("GetNameOwner") }
    return name
  }

  private static func method(_ name: String) -> DBusMethod {
    DBusMethod(
      "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", name)
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
    let session = try await ServiceSession.open(with: provider, timeout: deadline.left)
    return ServiceLink(provider: provider, session: session)
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

/// When an operation has to have an answer.
final class Deadline: Sendable {
  private let instant: Mutex<ContinuousClock.Instant>

  init(in timeout: Duration) {
    instant = Mutex(.now + timeout)
  }

  var left: Duration { instant.withLock { $0 } - .now }

  /// Runs a closure whose time does not count.
  func paused<Result>(_ body: () async throws -> Result) async rethrows -> Result {
    let start = ContinuousClock.now
    defer {
      let duration = ContinuousClock.now - start
      instant.withLock { $0 += duration }
    }
    return try await body()
  }
}

extension DBusError {
  static let unexpectedName = "org.session-tools.Unexpected"

  /// An answer of a form that the specification does not have.
  static func unexpected(_ method: String) -> DBusError {
    DBusError(.remote(unexpectedName), "the answer to \(method) has another form than it should")
  }
}
