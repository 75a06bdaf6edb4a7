import DatabaseStore
import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsTesting

/// The stores of this package, and one that compares no items itself.
enum Backend: CaseIterable {
  case memory, other, file, database

  /// Makes an empty store, and calls a closure with it.
  func withStore<Result>(_ body: (any SecretStore) async throws -> Result) async throws -> Result {
    let key = try RawKey(SecretBytes((0..<32).map { _ in UInt8.random(in: 0...255) }))
    switch self {
    case .memory: return try await body(MemoryStore())
    case .other: return try await body(FaultyStore(MemoryStore()))
    case .file:
      let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path()
      defer { try? FileManager.default.removeItem(atPath: path) }
      return try await body(try SealedFileStore.create(at: path, key: key))
    case .database:
      // Of the server that Tests/Tools/server-packages starts.
      guard let address = ProcessInfo.processInfo.environment["SERVER_PACKAGES_DATABASE"] else {
        throw MissingServer()
      }
      var options = SealedDatabaseStore.Options()
      options.schema = "persist_\(UUID().uuidString.prefix(8).lowercased())"
      return try await body(try SealedDatabaseStore.create(at: address, key: key, options: options))
    }
  }

  private struct MissingServer: Error, CustomStringConvertible {
    var description: String { "run these tests by Tests/Tools/server-packages" }
  }
}
