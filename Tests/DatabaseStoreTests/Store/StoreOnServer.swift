import SessionToolsDatabaseServer
import DatabaseStore
import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsTesting
import Synchronization

/// A way to reach the tests' server.
enum Way: String, CaseIterable, Sendable {
  case socket
  case tls
  case pooler

  /// One pooler for all tests, because it takes time to start.
  private static let sharedPooler = Task { try await Pooler(of: .shared()) }

  /// Returns the address of the server, and the options to reach it.
  func location(schema: String, on server: DatabaseServer) async throws -> (
    address: String, options: SealedDatabaseStore.Options
  ) {
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
  /// Where a store is.
  struct Location: Sendable {
    let way: Way
    var address: String
    var options: SealedDatabaseStore.Options
    let key: RawKey

    /// Opens another object of the same store, as another process would.
    func reopened(
      environment: DatabaseEnvironment = DatabaseEnvironment()
    ) throws -> SealedDatabaseStore {
      try SealedDatabaseStore.open(
        address, key: key, options: options, environment: environment)
    }
  }

  var location: Location
  let store: SealedDatabaseStore
  private let server: DatabaseServer

  // Without a server, it is that of all tests, whose transactions hide changes from streams while
  // they last.
  init(
    _ way: Way = .socket, on server: DatabaseServer? = nil,
    environment: DatabaseEnvironment = DatabaseEnvironment(),
    timeout: Duration? = nil, onNotice: (@Sendable (DatabaseNotice) -> Void)? = nil
  ) async throws {
    let schema = "t_" + UUID().uuidString.lowercased().replacing("-", with: "_")
    self.server = if let server { server } else { try await .shared() }
    var (address, options) = try await way.location(schema: schema, on: self.server)
    options.onNotice = onNotice
    if let timeout { options.operationTimeout = timeout }
    let key = try RawKey(RawKey.random())
    location = Location(way: way, address: address, options: options, key: key)
    store = try SealedDatabaseStore.create(
      at: address, key: key, options: options, environment: environment)
  }

  /// Opens another object of the same store, as another process would.
  func reopened(
    environment: DatabaseEnvironment = DatabaseEnvironment()
  ) throws -> SealedDatabaseStore {
    try location.reopened(environment: environment)
  }

  /// Runs a statement on the server, in which `$` stands for the schema.
  @discardableResult
  func ask(_ statement: String) async throws -> String {
    try await server.ask(statement.replacing("$", with: location.options.schema))
  }
}

extension StoreUnderTest {
  /// Returns an empty store for a check.
  static func database(_ way: Way) async throws -> StoreUnderTest {
    let made = try await FreeStores.take(way)
    let store = try made.reopened()
    let locking = WeakStore(store)
    return StoreUnderTest(
      store, reopen: { try made.reopened() }, lock: { locking.store?.lock() },
      unlock: { try locking.store?.unlock(with: made.key) },
      cleanUp: { try await FreeStores.giveBack(made) })
  }
}

/// Stores that checks use one after the other, because making one takes long.
private enum FreeStores {
  private static let free = Mutex<[StoreOnServer.Location]>([])

  static func take(_ way: Way) async throws -> StoreOnServer.Location {
    let found = free.withLock { free -> StoreOnServer.Location? in
      free.firstIndex { $0.way == way }.map { free.remove(at: $0) }
    }
    if let found { return found }
    return try await StoreOnServer(way).location
  }

  static func giveBack(_ location: StoreOnServer.Location) async throws {
    let connection = try await DatabaseServer.shared().open()
    for table in ["item", "lease"] {
      try connection.run("DELETE FROM \(location.options.schema).\(table)", as: .write)
    }
    free.withLock { $0.append(location) }
  }
}

extension SecretStore {
  func put(_ text: String, for name: ItemName) async throws {
    try await put(SecretBytes(utf8: text), for: name)
  }

  func text(for name: ItemName) async throws -> String? {
    try await value(for: name).map { String(decoding: $0.copyBytes(), as: UTF8.self) }
  }
}

/// A store that is released when the check releases it.
final class WeakStore: Sendable {
  weak let store: SealedDatabaseStore?

  init(_ store: SealedDatabaseStore) {
    self.store = store
  }
}

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

extension DatabaseEnvironment {
  /// An environment in which the test sweeps, as often as it wants, and nothing else does.
  static var sweptByTest: DatabaseEnvironment {
    var environment = DatabaseEnvironment()
    environment.sweepInterval = .zero
    environment.sweepDelay = .seconds(86_400)
    return environment
  }
}
