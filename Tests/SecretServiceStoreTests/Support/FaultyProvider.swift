import SessionToolsBusTestSupport
import SessionToolsDBus
import Foundation
import SessionToolsTestSupport

/// A provider that fails in the ways that tests ask for; `Tests/Services/FaultyProvider` lists
/// them.
final class FaultyProvider: Sendable {
  static let script = "\(SourceDirectory.path)/Tests/Services/FaultyProvider/provider.py"

  private let daemon: Daemon
  private let connection: DBusConnection

  private init(_ daemon: Daemon, _ connection: DBusConnection) {
    self.daemon = daemon
    self.connection = connection
  }

  /// Starts the provider, with another name on the bus if one is given.
  static func start(
    on bus: PrivateBus, alsoNamed name: String? = nil
  ) async throws -> FaultyProvider {
    let daemon = try Daemon.faulty(name.map { [$0] } ?? [], on: bus)
    let connection = try await bus.connection(whenOwned: OtherClient.provider)
    return FaultyProvider(daemon, connection)
  }

  /// Sets the fault of a method or property; an empty fault makes it work again.
  func set(_ name: String, _ fault: String) async throws {
    try await call("Set", [.string(name), .string(fault)])
  }

  /// Adds an item, as another program does.
  func add(_ secret: String, _ attributes: [String: String]) async throws {
    try await call("Add", [.strings(attributes), .string(secret)])
  }

  /// Returns how many secrets were given to anyone so far.
  func givenCount() async throws -> Int {
    try await call("GivenCount", []).children.first?.unsigned32.map(Int.init) ?? -1
  }

  @discardableResult
  private func call(_ name: String, _ arguments: [Variant]) async throws -> Variant {
    let method = DBusMethod(
      OtherClient.provider, OtherClient.root, "org.sessiontools.Faults", name)
    return try await connection.call(method, arguments, timeout: patience)
  }

  func lock() async throws { try await set("locked", "yes") }

  /// Locks as KWallet does: secrets are returned as empty ones, and unlocking takes a question.
  func lockGivingEmptySecrets() async throws {
    try await set("Unlock", "prompt 0 never")
    try await set("locked", "empty")
  }

  func unlock() async throws { try await set("locked", "") }

  func kill() { daemon.kill() }
}

/// A prompter for gnome-keyring's questions that never answers.
final class SilentPrompter: Sendable {
  private static let name = "org.gnome.keyring.SystemPrompter"
  private let daemon: Daemon
  private let connection: DBusConnection

  private init(_ daemon: Daemon, _ connection: DBusConnection) {
    self.daemon = daemon
    self.connection = connection
  }

  static func start(on bus: PrivateBus) async throws -> SilentPrompter {
    let daemon = try Daemon.faulty(["prompter"], on: bus)
    let connection = try await bus.connection(whenOwned: name)
    return SilentPrompter(daemon, connection)
  }

  /// Returns how often it was asked.
  func count() async throws -> Int {
    let method = DBusMethod(
      Self.name, "/org/gnome/keyring/Prompter", "org.sessiontools.Faults", "Count")
    let answer = try await connection.call(method, timeout: patience)
    return answer.children.first?.text.flatMap(Int.init) ?? -1
  }
}

extension Daemon {
  fileprivate static func faulty(_ arguments: [String], on bus: PrivateBus) throws -> Daemon {
    try Daemon(
      "/usr/bin/python3", [FaultyProvider.script] + arguments, environment: bus.environment)
  }
}

extension PrivateBus {
  fileprivate func connection(whenOwned name: String) async throws -> DBusConnection {
    try await waitForOwner(of: name)
    return try await DBusConnection.open(address: address, timeout: patience)
  }
}
