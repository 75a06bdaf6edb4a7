import SessionToolsBusTestSupport
import Foundation
import SessionToolsTestSupport

/// `session-tools secret-service` on a bus, with a store whose key file it finds.
final class SealedKeyring: Sendable {
  private let daemon: Daemon

  /// Starts it with the store of its bus or of another one.
  init(on bus: PrivateBus, servingThatOf other: PrivateBus? = nil) async throws {
    let store = (other ?? bus)["data/vault"]
    if !FileManager.default.fileExists(atPath: store) {
      try await bus.run(Tool.program, "init", store)
    }
    daemon = try Daemon(
      Tool.program, ["secret-service", store], input: "",
      environment: bus.environment.merging(
        other.map { ["XDG_DATA_HOME": $0["data"]] } ?? [:]
      ) { $1 })
    try await bus.waitForOwner(of: OtherClient.provider)
  }

  var isRunning: Bool { daemon.isRunning }

  /// Makes changes, which are on disk as soon as they are made.
  func saving(_ change: () async throws -> Void) async throws { try await change() }

  /// Kills the program, as in a crash.
  func kill() { daemon.kill() }
}
