import DatabaseServer
import DatabaseStore
import SealedStore
import SessionToolsBase
import SessionToolsTesting
import TestSupport
import Testing

/// The promises of every store, by each way to reach the server.
@Suite(.serialized) struct `a database store` {
  @Test(arguments: Way.allCases, try await StoreConformance.checks(for: .database(.socket)))
  func `keeps the promises of every store`(
    by way: Way, _ check: StoreConformance.Check
  ) async throws {
    try await check.run { try await .database(way) }
  }
}
