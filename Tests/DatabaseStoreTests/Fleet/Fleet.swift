import SessionToolsDatabaseServer
import DatabaseStore
import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsTestSupport

/// A store that processes share.
struct Fleet: Sendable {
  let address: String
  let options: SealedDatabaseStore.Options
  /// How long exclusive access lasts without being renewed.
  let leaseDuration: Duration
  /// The store as this process uses it.
  let store: SealedDatabaseStore
  private let key: KeyFile
  private let directory: TemporaryDirectory

  /// Makes a store, by default on the server that tests share.
  init(
    at address: String? = nil, timeout: Duration = .seconds(60),
    leaseDuration: Duration = .seconds(30)
  ) async throws {
    let schema = "t_" + UUID().uuidString.lowercased().replacing("-", with: "_")
    if let address {
      self.address = address
    } else {
      self.address = try await DatabaseServer.shared().socketAddress()
    }
    directory = try TemporaryDirectory()
    options = SealedDatabaseStore.Options(schema: schema, operationTimeout: timeout)
    self.leaseDuration = leaseDuration
    key = try KeyFile.create(at: directory["key"])
    // Longer than for the fleet: a server that is new may be slow.
    var patient = options
    patient.operationTimeout = .seconds(60)
    store = try SealedDatabaseStore.create(at: self.address, key: key, options: patient)
  }

  /// Opens another object of the store, as another process would, perhaps at another address of the
  /// same database, and with another time for operations.
  func opened(
    at address: String? = nil, timeout: Duration? = nil
  ) throws -> SealedDatabaseStore {
    var options = options
    if let timeout { options.operationTimeout = timeout }
    var environment = DatabaseEnvironment()
    environment.leaseDuration = leaseDuration
    // To open it may take longer on a busy machine than an operation may take afterwards.
    var wait = Wait()
    repeat {
      do throws(StoreError) {
        return try SealedDatabaseStore.open(
          address ?? self.address, key: key, options: options, environment: environment)
      } catch {
        guard error.code == .timedOut else { throw error }
      }
    } while !wait.isOver()
    throw NeverHappened(what: "the store is opened")
  }

  /// Starts a process with a command and its arguments behind those of the store, perhaps by
  /// another program.
  func start(
    _ command: String, at address: String? = nil, _ more: String..., under program: [String] = [],
    environment: [String: String] = [:]
  ) throws -> FleetWorker {
    func milliseconds(_ duration: Duration) -> String { "\(Int(duration / .milliseconds(1)))" }
    let arguments = [
      command, address ?? self.address, options.schema, directory["key"],
      milliseconds(options.operationTimeout), milliseconds(leaseDuration),
    ]
    return try FleetWorker(arguments + more, under: program, environment)
  }

  /// Runs a statement on the tests' server, in which `$` stands for the schema.
  @discardableResult
  func ask(_ statement: String) async throws -> String {
    try await DatabaseServer.shared().ask(statement.replacing("$", with: options.schema))
  }
}
