import Configuration
import DatabaseStore
import Glibc
import Hummingbird
import Logging
import ServiceLifecycle
import SessionServiceAdapters
import SessionToolsBase

// First, while no other thread reads the environment, and before a reader copies it.
let database = getenv("STORE") == nil ? try DatabaseURL(takingFromEnvironment: "DATABASE_URL") : nil
let logger = Logger(label: "example")
let metrics = SessionMetrics()
func observe(_ log: SessionLog) {
  SessionEvent.observer = { event in
    log.record(event)
    metrics.record(event)
  }
}
observe(SessionLog(logger))
let configuration = ConfigReader(provider: EnvironmentVariablesProvider())
let parts = try await Parts(configuration, database)
observe(SessionLog(logger, accounts: .hashed(try AccountHash(key: parts.secrets.logKey))))
let application = Application(
  router: Routes(parts: parts).router(),
  configuration: .init(
    address: .hostname(
      configuration.string(forKey: "host", default: "127.0.0.1"),
      port: configuration.int(forKey: "port", default: 8080))),
  // Ended in the reverse order: the server, and at last the refreshes under way.
  services: [SessionRefreshService(), parts.persist], logger: logger)
// The HTTP clients only now, because refreshes need them until they have ended.
do { try await application.runService() } catch { try await parts.shutdown(); throw error }
try await parts.shutdown()
