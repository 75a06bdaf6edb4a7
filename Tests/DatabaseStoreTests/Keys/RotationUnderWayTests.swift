import SessionToolsDatabaseServer
import DatabaseStore
import SealedStore
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Rotations while many other processes put items.
@Suite(.onOwnThread) struct `a rotation while others put` {
  /// Some of the rotations are killed, and each time the next one goes on.
  @Test func `loses no item, and leaves no row with an older key`() async throws {
    let made = try await StoreOnServer()
    let directory = try TemporaryDirectory()
    let key = try made.addKeyFile(in: directory)
    let count = TestSize.choose(small: 500, medium: 2000, large: 10_000)
    try made.fill(count)
    let writerCount = TestSize.choose(small: 8, medium: 8, large: 20)
    let writers = try (0..<writerCount).map {
      try StoreProcess("fill", made.location, key, "\($0)")
    }
    for writer in writers { try await writer.wait(for: "opened") }
    for round in 0..<TestSize.choose(small: 1, medium: 3, large: 100) {
      if round.isMultiple(of: 2) {
        let process = try StoreProcess("rotate", made.location, key)
        try await process.wait(for: "opened")
        try process.closeInput()
        try await Task.sleep(for: .milliseconds(.random(in: 0...600)))
        process.kill()
      }
      try await onThread { try made.store.rotate() }
      let epoch = try await made.ask("SELECT least_epoch FROM $.header")
      #expect(try await made.ask("SELECT count(*) FROM $.item WHERE epoch < \(epoch)") == "0")
      #expect(try !made.store.isRotationPending())
    }
    for writer in writers {
      let lines = try await writer.finish()
      #expect(lines.last == "ended", "\(lines)")
      for line in lines where line.hasPrefix("last ") {
        let words = line.split(separator: " ")
        let item = try ItemName("\(words[1]) \(words[2])", in: "fleet")
        #expect(try await made.store.text(for: item) == String(words[3]))
      }
    }
    #expect(try await made.store.names(in: nil).count == count + 3 * writerCount)
    for number in stride(from: 0, to: count, by: 97) {
      let item = try ItemName("\(number)", in: "svc")
      #expect(try await made.store.text(for: item) == "value \(number)")
    }
  }

  /// A put and the rotation wait for the same row, in this order.
  @Test func `seals no old version over a put that came before it`() async throws {
    let made = try await StoreOnServer()
    let item = try ItemName("item", in: "svc")
    try await made.store.put("old", for: item)
    let other = try made.reopened()
    let server = try await DatabaseServer.shared()
    let held = try await server.open().hold(
      "SELECT 1 FROM \(made.location.options.schema).item FOR UPDATE", server.open())
    async let put: Void = other.put("new", for: item)
    try await made.waitForRowLocks(1)
    async let rotation: Void = onThread { try made.store.rotate() }
    try await made.waitForRowLocks(2)
    try await held.end()
    try await put
    try await rotation
    #expect(try await made.store.text(for: item) == "new")
  }
}

extension StoreOnServer {
  /// Waits until a number of statements wait for a row of the store.
  fileprivate func waitForRowLocks(_ count: Int) async throws {
    try await wait(until: "\(count) statements wait for a row") {
      try await ask(
        """
        SELECT count(*) FROM pg_stat_activity
        WHERE wait_event IN ('transactionid', 'tuple') AND query LIKE '%$%item%'
        """) == "\(count)"
    }
  }
}
