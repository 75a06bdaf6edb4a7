import SessionToolsBusTestSupport
import Foundation
import SessionToolsTestSupport

/// `session-tools secret-service` on a bus, with a store whose key file it finds.
final class SealedKeyring: Sendable {
  private let daemon: Daemon

  init(on bus: PrivateBus) async throws {
    if !FileManager.default.fileExists(atPath: bus["data/vault"]) {
      try await bus.run(Tool.program, "init", bus["data/vault"])
    }
    daemon = try Daemon(
      Tool.program, ["secret-service", bus["data/vault"]], input: "",
      environment: bus.environment)
    try await bus.waitForOwner(of: OtherClient.provider)
  }

  var isRunning: Bool { daemon.isRunning }

  /// Makes changes, which are on disk as soon as they are made.
  func saving(_ change: () async throws -> Void) async throws { try await change() }

  /// Kills the program, as in a crash.
  func kill() { daemon.kill() }
}
