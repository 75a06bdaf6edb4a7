import SessionToolsDatabaseServer
import DatabaseStore
import Foundation
import SessionToolsBase
import Synchronization
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// How operations divide their time among their attempts.
@Suite(.onOwnThread) struct ShortTimeTests {
  private let name = "short time \(UInt64.random(in: 0...(.max)))"

  /// Returns the location of a store, at which its connections have the test's own name.
  private func location(of made: StoreOnServer, timeout: Duration) async throws
    -> StoreOnServer.Location
  {
    var location = made.location
    location.address =
      try await DatabaseServer.shared().socketAddress() + " application_name='\(name)'"
    location.options.operationTimeout = timeout
    return location
  }

  @Test func `a statement has time although opening its connection took most of it`()
    async throws
  {
    let server = try await DatabaseServer.shared()
    let openings = Mutex((isSlow: false, count: 0))
    var location = try await location(of: StoreOnServer(), timeout: .seconds(12))
    location.options.password = { () throws(StoreError) in
      let isFirst = openings.withLock { openings in
        openings.count += 1
        defer { openings.isSlow = false }
        return openings.isSlow
      }
      if isFirst { Thread.sleep(forTimeInterval: 8) }
      return nil
    }
    let store = try location.reopened()
    try await server.ask(
      """
      SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
      WHERE application_name = '\(name)'
      """)
    openings.withLock { $0 = (isSlow: true, count: 0) }
    #expect(try await store.text(for: ItemName("item", in: "svc")) == nil)
    #expect(openings.withLock { $0.count } == 1, "a good connection was given up")
  }

  @Test func `a put that waits for a lock leaves no more than two processes at the server`()
    async throws
  {
    let server = try await DatabaseServer.shared()
    let made = try await StoreOnServer()
    let item = try ItemName("item", in: "svc")
    try await made.store.put("first", for: item)
    let store = try await location(of: made, timeout: .seconds(8)).reopened()
    let holding = try await server.open().hold(
      "SELECT FROM \(made.location.options.schema).item FOR UPDATE", server.open())
    let error = await #expect(throws: StoreError.self) { try await store.put("second", for: item) }
    #expect(error?.code == .outcomeUnknown)
    let count = try await server.ask(
      """
      SELECT count(*) FROM pg_stat_activity
      WHERE application_name = '\(name)' AND wait_event_type = 'Lock'
      """)
    #expect(["1", "2"].contains(count))
    try await holding.end()
  }
}
