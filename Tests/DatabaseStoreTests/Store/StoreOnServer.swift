import DatabaseServer
import DatabaseStore
import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsTesting

/// A way to reach the tests' server.
enum Way: String, CaseIterable, Sendable {
  case socket
  case tls
  case pooler

  /// One pooler for all tests, because it takes time to start.
  private static let sharedPooler = Task { try await Pooler(of: .shared()) }

  /// Returns the address of the server, and the options to reach it.
  func place(schema: String) async throws -> (address: String, options: SealedDatabaseStore.Options)
  {
    let server = try await DatabaseServer.shared()
    // Longer than users want it, for busy machines.
    var options = SealedDatabaseStore.Options(schema: schema, operationTimeout: .seconds(60))
    switch self {
    case .socket: return (server.socketAddress(), options)
    case .tls:
      let more = "sslmode=verify-full sslrootcert=\(server.authority)"
      return (server.address(host: "localhost", more), options)
    case .pooler:
      options.preparesStatements = false
      let pooler = try await Self.sharedPooler.value
      return (server.address(port: pooler.port), options)
    }
  }
}

/// A store of a test's own, in a schema of its own.
struct StoreOnServer {
  let schema: String
  let address: String
  let options: SealedDatabaseStore.Options
  let key: RawKey
  let store: SealedDatabaseStore

  init(
    _ way: Way = .socket, environment: DatabaseEnvironment = DatabaseEnvironment(),
    timeout: Duration? = nil, onNotice: (@Sendable (DatabaseNotice) -> Void)? = nil
  ) async throws {
    let schema = "t_" + UUID().uuidString.lowercased().replacing("-", with: "_")
    var (address, options) = try await way.place(schema: schema)
    options.onNotice = onNotice
    if let timeout { options.operationTimeout = timeout }
    let key = try RawKey(RawKey.random())
    (self.schema, self.address, self.options, self.key) = (schema, address, options, key)
    store = try SealedDatabaseStore.create(
      at: address, key: key, options: options, environment: environment)
  }

  /// Opens another object of the same store, as another process would.
  func reopened(
    environment: DatabaseEnvironment = DatabaseEnvironment()
  ) throws -> SealedDatabaseStore {
    try SealedDatabaseStore.open(address, key: key, options: options, environment: environment)
  }

  /// Runs a statement on the server, in which `$` stands for the schema.
  @discardableResult
  func ask(_ statement: String) async throws -> String {
    try await DatabaseServer.shared().ask(statement.replacing("$", with: schema))
  }
}

extension StoreUnderTest {
  /// Returns a new store for a check.
  static func database(_ way: Way) async throws -> StoreUnderTest {
    let made = try await StoreOnServer(way)
    let (address, key, options) = (made.address, made.key, made.options)
    let locking = WeakStore(made.store)
    return StoreUnderTest(
      made.store,
      reopen: { try SealedDatabaseStore.open(address, key: key, options: options) },
      lock: { locking.store?.lock() }, unlock: { try locking.store?.unlock(with: key) })
  }
}

extension SecretStore {
  func put(_ text: String, for key: StoreKey) async throws {
    try await put(SecretBytes(utf8: text), for: key)
  }

  func text(for key: StoreKey) async throws -> String? {
    try await value(for: key).map { String(decoding: $0.copyBytes(), as: UTF8.self) }
  }
}

/// A store that is released when the check releases it.
final class WeakStore: Sendable {
  weak let store: SealedDatabaseStore?

  init(_ store: SealedDatabaseStore) {
    self.store = store
  }
}
