import SessionToolsDatabaseServer
import DatabaseStore
import Foundation
import SessionToolsBase
import Synchronization
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Holders of exclusive access that stand still or die, among other processes.
@Suite(.onOwnThread) struct `a process with exclusive access` {
  private let (item, name): (ItemName, ItemName)

  init() throws {
    item = try ItemName("item", in: "fleet")
    name = try ItemName("name", in: "fleet")
  }

  @Test func `that is stopped for longer than its lease changes nothing any more`() async throws {
    let fleet = try await Fleet(leaseDuration: .milliseconds(500))
    let worker = try fleet.start("hold")
    try await worker.waitFor("opened")
    try worker.send()
    try await worker.waitFor("held")
    worker.signal(SIGSTOP)
    try await fleet.store.withExclusiveAccess(to: name, timeout: patience) {
      try await fleet.store.put("2", for: item)
    }
    worker.signal(SIGCONT)
    try worker.send("1")
    #expect(try worker.end().lines == ["opened", "held", "exclusionLost"])
    #expect(try await fleet.store.text(for: item) == "2")
  }

  /// The statement has reached the server, whose process stands still for longer than the lease.
  @Test func `whose put is held up in the server does not put it when others have the name`()
    async throws
  {
    let server = try await DatabaseServer.shared()
    let fleet = try await Fleet(leaseDuration: .seconds(2))
    let worker = try fleet.start("hold")
    try await worker.waitFor("opened")
    try worker.send()
    try await worker.waitFor("held")
    try worker.send("1")
    try await worker.waitFor("stored")
    try await fleet.ask(
      """
      CREATE FUNCTION $.lock() RETURNS int LANGUAGE plpgsql AS
        'BEGIN LOCK TABLE $.item IN EXCLUSIVE MODE; RETURN 1; END'
      """)
    let lock = try await server.open().hold("SELECT \(fleet.options.schema).lock()", server.open())
    try worker.send("2")
    var process: Int32 = 0
    try await wait(until: "the put is under way") {
      let answer = try await fleet.ask(
        "SELECT pid FROM pg_locks WHERE NOT granted AND relation = '$.item'::regclass")
      process = Int32(answer) ?? 0
      return process > 0
    }
    // The worker stands still as well: it would renew its lease by another process of the server.
    worker.signal(SIGSTOP)
    server.signal(SIGSTOP, process: process)
    defer { server.signal(SIGCONT, process: process) }
    try await lock.end()
    try await fleet.store.withExclusiveAccess(to: name, timeout: patience) {
      #expect(try await fleet.store.text(for: item) == "1")
      server.signal(SIGCONT, process: process)
      worker.signal(SIGCONT)
      try await worker.waitFor("exclusionLost")
      #expect(try await fleet.store.text(for: item) == "1")
    }
    #expect(try worker.end().lines == ["opened", "held", "stored", "exclusionLost"])
  }

  /// The check of the lease and the commit are two moments: no one else may get the name between.
  @Test func `keeps it until a change that was begun under it is made`() async throws {
    let made = try await StoreOnServer(environment: Self.short)
    let (item, name) = (item, name)
    try await made.store.put("0", for: item)
    let held = try await HeldChanges(of: made)
    let change = Task.detached {
      try await made.store.withExclusiveAccess(to: name, timeout: patience) {
        let number = Int(try await made.store.text(for: item) ?? "") ?? -1
        try await made.store.put("\(number + 1)", for: item)
      }
    }
    try await held.waitForOne()
    let other = try made.reopened()
    let hasAccess = Mutex(false)
    let second = Task.detached {
      try await other.withExclusiveAccess(to: name, timeout: patience) {
        let number = Int(try await other.text(for: item) ?? "") ?? -1
        hasAccess.withLock { $0 = true }
        try await other.put("\(number + 1)", for: item)
      }
    }
    // Longer than the lease, by the server's clock.
    try held.connection.run("SELECT pg_sleep(5.5)")
    #expect(!hasAccess.withLock { $0 })
    try held.end()
    try await change.value
    try await second.value
    #expect(try await other.text(for: item) == "2")
  }

  private static let short: DatabaseEnvironment = {
    var environment = DatabaseEnvironment()
    environment.leaseDuration = .seconds(5)
    environment.renewsLeases = false
    return environment
  }()

  /// Twelve processes count an item up, while those that have the name are stopped or killed.
  @Test func `never counts to a number to which another one has counted`() async throws {
    let duration = Duration.seconds(TestSize.choose(small: 2, medium: 4, large: 120))
    let lease = Duration.milliseconds(200)
    let fleet = try await Fleet(timeout: .seconds(20), leaseDuration: lease)
    var workers = try (0..<12).map { _ in try fleet.start("count") }
    var outputs: [[String]] = []
    var stoppedCount = 0
    let begin = ContinuousClock.now
    // On a busy machine few are stopped while they have the name, so that this takes longer.
    func isOver() -> Bool {
      let time = ContinuousClock.now - begin
      let said = (outputs + workers.map(\.said)).joined()
      return time > duration && said.contains { $0.hasPrefix("exclusionLost ") }
        || time > duration + .seconds(60)
    }
    while !isOver() {
      usleep(UInt32.random(in: 1000...20_000))
      guard let number = workers.firstIndex(where: { $0.last == "held" }) else { continue }
      usleep(UInt32.random(in: 0...10_000))
      if Bool.random() {
        workers[number].signal(SIGSTOP)
        stoppedCount += 1
        try await Task.sleep(for: lease * Double.random(in: 0.5...2.5))
        workers[number].signal(SIGCONT)
      } else {
        outputs.append(workers[number].kill())
        workers[number] = try fleet.start("count")
      }
    }
    let killedCount = outputs.count
    for worker in workers { try worker.endInput() }
    for worker in workers {
      let ended = worker.waitUntilExit()
      #expect(ended.lines.last == "ended")
      outputs.append(ended.lines)
    }
    let lines = outputs.flatMap { $0 }
    let stored = lines.compactMap { line in
      line.wholeMatch(of: /stored (\d+)/).flatMap { Int($0.1) }
    }
    let refusedCount = lines.count { $0.hasPrefix("exclusionLost ") }
    let unknownCount = lines.count { $0.hasPrefix("outcomeUnknown ") }
    #expect(lines.filter { $0.hasPrefix("failed") } == [])
    let last = try #require(Int(try await fleet.store.text(for: item) ?? ""))
    #expect(Set(stored).count == stored.count, "two have stored the same number")
    // What no one has reported was stored by one that was killed before it could report it.
    #expect(last - stored.count <= killedCount + unknownCount && last >= stored.count)
    #expect(refusedCount > 0)
    print(
      "12 processes counted to \(last), \(stored.count) of which were reported, \(refusedCount) "
        + "refused; \(stoppedCount) stopped, \(killedCount) killed: 0 lost")
  }
}
