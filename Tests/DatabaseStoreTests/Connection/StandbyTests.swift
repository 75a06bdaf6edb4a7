import SessionToolsDatabaseServer
import DatabaseStore
import Foundation
import SealedStore
import SessionToolsBase
import Synchronization
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// A primary whose commits a standby confirms.
@Suite(.onOwnThread) struct StandbyTests {
  @Test func `a change that the standby does not confirm has no answer, and is not cancelled`()
    async throws
  {
    let primary = try await DatabaseServer()
    let standby = try await primary.makeStandby()
    // The standby accepts no changes.
    let opening = try opening(
      "host=127.0.0.1,127.0.0.1 port=\(standby.port),\(primary.port) user=postgres "
        + "dbname=postgres")
    let connection = try opening.open(until: later)
    #expect("\(connection.endpoint)" == "127.0.0.1:\(primary.port)")
    #expect(connection.server.settings.isReplicated)
    #expect(connection.server.settings.notices.isEmpty)
    try connection.run("CREATE TABLE public.t (v int)", as: .write)
    let canceled = try opening.open(until: later)

    standby.signal(SIGSTOP, process: try standby.receiver())
    let process = try #require(connection.serverProcess)
    let deadline = ContinuousClock.now + .milliseconds(500)
    let error = failure(by: deadline) {
      try connection.run("INSERT INTO public.t VALUES (1)", as: .write, until: deadline)
    }
    #expect(error?.kind == .noAnswer && error.code(.write) == .outcomeUnknown)
    #expect(!connection.isUsable)
    // A cancelled wait would make it visible, without being on the standby.
    #expect(try await primary.ask("SELECT count(*) FROM public.t") == "0")
    try await wait(until: "what is left of the change waits for the standby") {
      try await primary.ask("SELECT wait_event FROM pg_stat_activity WHERE pid = \(process)")
        == "SyncRep"
    }

    // An administrator cancels another one, which the server then reports as made.
    let other = try #require(canceled.serverProcess)
    let outcome = Task {
      try await onThread {
        failure { try canceled.run("INSERT INTO public.t VALUES (2)", as: .write) }
      }
    }
    try await wait(until: "the change waits for the standby") {
      try await primary.ask("SELECT wait_event FROM pg_stat_activity WHERE pid = \(other)")
        == "SyncRep"
    }
    try await primary.ask("SELECT pg_cancel_backend(\(other))")
    let warned = try await outcome.value
    guard case .noAnswer(.warning) = warned else {
      Issue.record("\(String(describing: warned))")
      return
    }
    #expect(try await primary.ask("SELECT v FROM public.t") == "2")

    standby.signal(SIGCONT, process: try standby.receiver())
    try await wait(until: "the first change is there") {
      try await primary.ask("SELECT count(*) FROM public.t") == "2"
    }
    // The wait of one of the two was cancelled, and that was not ours.
    #expect(primary.log.components(separatedBy: "canceling wait").count == 2)
  }

  /// After a wait that was broken off, the change is there for everyone to see, on one server.
  @Test func `a put is not confirmed before the standby has it, even if it can be read`()
    async throws
  {
    let primary = try await DatabaseServer()
    let standby = try await primary.makeStandby()
    let (patient, hasty) = try stores(on: primary, timeout: .seconds(8))
    let item = try ItemName("item", in: "svc")
    try await hasty.put("first", for: item)

    standby.signal(SIGSTOP, process: try standby.receiver())
    try await breakingOffWaits(on: primary) {
      let error = await #expect(throws: StoreError.self) {
        try await hasty.put("second", for: item)
      }
      #expect(error?.code == .outcomeUnknown)
      try await wait(until: "the put can be read") {
        try await patient.text(for: item) == "second"
      }
    }

    standby.signal(SIGCONT, process: try standby.receiver())
    try await patient.put("third", for: item)
    #expect(try await hasty.text(for: item) == "third")
  }

  /// A failover could give it to another machine while a token that can be used once is under way.
  @Test func `exclusive access is not given before the standby has it, even if it can be seen`()
    async throws
  {
    let primary = try await DatabaseServer()
    let standby = try await primary.makeStandby()
    let (patient, hasty) = try stores(on: primary, timeout: .seconds(4))
    let names = try ["held", "other"].map { try ItemName($0, in: "svc") }
    try await hasty.put("value", for: names[1])

    try await patient.withExclusiveAccess(to: names[0], timeout: patience) {
      standby.signal(SIGSTOP, process: try standby.receiver())
      // It waits for no standby to learn that someone else has the access.
      let isHeld = await #expect(throws: StoreError.self) {
        try await hasty.withExclusiveAccess(to: names[0], timeout: .zero) { await Task.yield() }
      }
      #expect(isHeld?.code == .timedOut)
      #expect(
        try await primary.ask(
          "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == "0")
      try await breakingOffWaits(on: primary) {
        for isReading in [false, true] {
          let wasGiven = Flag()
          let error = await #expect(throws: StoreError.self) {
            if isReading {
              try await hasty.withExclusiveAccess(
                to: names[1], timeout: patience, reading: names[1]
              ) { _ in wasGiven.set() }
            } else {
              try await hasty.withExclusiveAccess(to: names[1], timeout: patience) {
                await Task.yield()
                wasGiven.set()
              }
            }
          }
          #expect(error?.code == .timedOut && !wasGiven.isSet)
        }
      }
      standby.signal(SIGCONT, process: try standby.receiver())
    }
    try await patient.withExclusiveAccess(to: names[1], timeout: patience) { await Task.yield() }
  }

  /// Makes a store, and opens it once more with less time for each operation than a minute.
  private func stores(
    on primary: DatabaseServer, timeout: Duration
  ) throws -> (patient: SealedDatabaseStore, hasty: SealedDatabaseStore) {
    let key = try RawKey(RawKey.random())
    var options = SealedDatabaseStore.Options(operationTimeout: .seconds(60))
    let patient = try SealedDatabaseStore.create(
      at: primary.socketAddress(), key: key, options: options)
    options.operationTimeout = timeout
    return (
      patient, try SealedDatabaseStore.open(primary.socketAddress(), key: key, options: options)
    )
  }

  /// Runs a closure while every wait for the standby is broken off, again and again.
  private func breakingOffWaits(
    on primary: DatabaseServer, during body: () async throws -> Void
  ) async throws {
    let isOver = Flag()
    let cancelling = Task {
      while !isOver.isSet {
        try await primary.ask(
          "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
      }
    }
    do {
      try await body()
    } catch {
      isOver.set()
      throw error
    }
    isOver.set()
    try await cancelling.value
  }

  private final class Flag: Sendable {
    private let value = Atomic(false)

    var isSet: Bool { value.load(ordering: .acquiring) }
    func set() { value.store(true, ordering: .releasing) }
  }
}
