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
    switch self {
    case .memory: return try await body(MemoryStore())
    case .other: return try await body(FaultyStore(MemoryStore()))
    case .file, .database:
      let place = try SharedPlace(isDatabase: self == .database)
      defer { place.remove() }
      return try await body(try place.create())
    }
  }
}

/// Where several processes find one store, and its key.
struct SharedPlace: Codable, Sendable {
  private let isDatabase: Bool
  private let key: [UInt8]
  /// A directory of its own.
  let directory: URL

  init(isDatabase: Bool) throws {
    self.isDatabase = isDatabase
    key = (0..<32).map { _ in UInt8.random(in: 0...255) }
    directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
  }

  func create() throws -> any SecretStore {
    let key = try RawKey(SecretBytes(key))
    return isDatabase
      ? try SealedDatabaseStore.create(at: try Self.server(), key: key, options: databaseOptions)
      : try SealedFileStore.create(at: file, key: key)
  }

  func open() throws -> any SecretStore {
    let key = try RawKey(SecretBytes(key))
    return isDatabase
      ? try SealedDatabaseStore.open(try Self.server(), key: key, options: databaseOptions)
      : try SealedFileStore.open(at: file, key: key)
  }

  func remove() { try? FileManager.default.removeItem(at: directory) }

  private var file: String { directory.appending(path: "store").path() }

  private var databaseOptions: SealedDatabaseStore.Options {
    var options = SealedDatabaseStore.Options()
    options.schema = "persist_\(directory.lastPathComponent.prefix(8).lowercased())"
    return options
  }

  /// The server that Tests/Tools/server-packages starts.
  private static func server() throws -> String {
    guard let address = ProcessInfo.processInfo.environment["SERVER_PACKAGES_DATABASE"] else {
      throw MissingServer()
    }
    return address
  }

  private struct MissingServer: Error, CustomStringConvertible {
    var description: String { "run these tests by Tests/Tools/server-packages" }
  }
}
