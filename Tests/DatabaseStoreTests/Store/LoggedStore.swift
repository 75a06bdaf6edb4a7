import DatabaseServer
import DatabaseStore
import Foundation
import Synchronization

/// An object of a store whose statements the server logs.
final class LoggedStore: Sendable {
  let store: SealedDatabaseStore
  private let schema: String
  private let earlierCount = Mutex(0)

  init(_ made: StoreOnServer) async throws {
    var location = made.location
    location.address += " options='-c log_statement=all'"
    store = try location.reopened()
    schema = location.options.schema
    _ = try await sent()
  }

  /// Returns the names of the statements since the last call, each of which was a round trip.
  func sent() async throws -> [String] {
    let names = try await DatabaseServer.shared().log.components(separatedBy: "LOG:  execute ")
      .dropFirst().compactMap { entry -> String? in
        // Two spaces are behind the severity of the next entry.
        let text = entry.components(separatedBy: ":  ")[0]
        return text.contains(schema) ? text.components(separatedBy: ":")[0] : nil
      }
    return earlierCount.withLock { count in
      defer { count = names.count }
      return Array(names.dropFirst(count))
    }
  }
}
