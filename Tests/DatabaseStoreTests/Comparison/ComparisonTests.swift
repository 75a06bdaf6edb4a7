import DatabaseStore
import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Comparing a database with what an earlier comparison found in it.
@Suite(.onOwnThread) struct `a comparison of a database` {
  private let items: [ItemName]
  private let directory: TemporaryDirectory
  private let keeper: SealedFileStore
  private let start = Date()

  init() throws {
    items = try (0..<4).map { try ItemName("\($0)", in: "svc") }
    directory = try TemporaryDirectory()
    keeper = try SealedFileStore.create(
      at: directory["comparison"], key: RawKey(RawKey.random()))
  }

  private func makeStore() async throws -> StoreOnServer {
    var environment = DatabaseEnvironment.sweptByTest
    environment.retention = .zero
    let made = try await StoreOnServer(environment: environment)
    for item in items { try await made.store.put("first", for: item) }
    try await made.ask("CREATE TABLE $.before AS SELECT * FROM $.item")
    return made
  }

  /// Comparisons by another object, which has seen nothing before, some minutes later.
  private func compare(
    _ made: StoreOnServer, minutes: Double, accepting: Bool = false
  ) throws -> ComparisonReport {
    try made.reopened().compare(
      with: keeper, accepting: accepting, progress: nil, at: start + minutes * 60)
  }

  /// Puts the rows of some versions back as they were before.
  private func putBack(_ made: StoreOnServer, where condition: String = "true") async throws {
    try await made.ask(
      """
      DELETE FROM $.item i USING $.before b WHERE i.tag = b.tag AND \(condition);
      INSERT INTO $.item SELECT * FROM $.before b WHERE \(condition)
      """)
  }

  @Test func `finds nothing wrong with changes, rotations and sweeps`() async throws {
    let made = try await makeStore()
    let first = try compare(made, minutes: 0)
    #expect(first.lastTime == nil && first.findings.isEmpty && first.itemCount == 4)
    try await made.store.put("second", for: items[0])
    try await made.store.remove(items[1])
    try await made.store.put("new", for: ItemName("new", in: "svc"))
    let second = try compare(made, minutes: 1)
    #expect(second.findings.isEmpty && second.itemCount == 4)
    #expect(abs(try #require(second.lastTime).timeIntervalSince(start)) < 0.001)

    try made.store.rotate()
    #expect(try await made.sweep() == 1)
    // It was removed in the comparison before, so it may be gone at any time.
    let third = try compare(made, minutes: 2)
    #expect(third.findings.isEmpty && third.unexplainedCount == 0)
    // Removed and swept since: that takes an hour.
    try await made.store.remove(items[2])
    #expect(try await made.sweep() == 1)
    let fourth = try compare(made, minutes: 65)
    #expect(fourth.findings.isEmpty && fourth.unexplainedCount == 1)
    #expect(try compare(made, minutes: 66).unexplainedCount == 0)
  }

  @Test func `names items that are older than they were, until they are put again`()
    async throws
  {
    let made = try await makeStore()
    for item in items { try await made.store.put("second", for: item) }
    _ = try compare(made, minutes: 0)
    let smallest = "b.tag = (SELECT tag FROM $.before ORDER BY tag LIMIT 1)"
    try await putBack(made, where: smallest)
    let report = try compare(made, minutes: 1)
    try #require(report.findings.count == 1)
    guard case .older(let item) = report.findings.first else {
      Issue.record("an older item, not \(report.findings)")
      return
    }
    #expect(try await made.reopened().text(for: item) == "first")
    #expect(try compare(made, minutes: 100).findings == [.older(item)])
    // Two more changes, because that many were put back.
    for text in ["third", "fourth"] { try await made.reopened().put(text, for: item) }
    #expect(try compare(made, minutes: 101).findings.isEmpty)
  }

  @Test func `notices an item that was changed differently after it was put back`()
    async throws
  {
    let made = try await makeStore()
    for item in items { try await made.store.put("second", for: item) }
    _ = try compare(made, minutes: 0)
    try await putBack(made)
    for item in items { try await made.reopened().put("other", for: item) }
    #expect(try compare(made, minutes: 1).findings == Set(items.map { .older($0) }))
  }

  @Test func `notices a removed item that comes back, also after it was swept`() async throws {
    let made = try await makeStore()
    for item in items { try await made.store.remove(item) }
    _ = try compare(made, minutes: 30)
    try await made.ask("CREATE TABLE $.removed AS SELECT * FROM $.item")
    try await putBack(made)
    #expect(try compare(made, minutes: 31).findings == Set(items.map { .older($0) }))
    try await made.ask("DELETE FROM $.item; INSERT INTO $.item SELECT * FROM $.removed")
    _ = try compare(made, minutes: 32)
    try await made.ask("DELETE FROM $.item")
    #expect(try compare(made, minutes: 33).findings.isEmpty)
    try await putBack(made)
    #expect(try compare(made, minutes: 34).findings == Set(items.map { .older($0) }))
    #expect(try compare(made, minutes: 35).findings == Set(items.map { .older($0) }))
  }

  @Test func `notices what vanished, until it is put again or accepted`() async throws {
    let made = try await makeStore()
    _ = try compare(made, minutes: 0)
    try await made.ask("DELETE FROM $.item")
    let report = try compare(made, minutes: 49)
    #expect(report.findings.count == 4 && report.itemCount == 0)
    #expect(
      report.findings.allSatisfy { if case .missing = $0 { true } else { false } })
    // It stays a finding however much time passes.
    #expect(try compare(made, minutes: 200).findings == report.findings)
    try await made.reopened().put("again", for: items[0])
    #expect(try compare(made, minutes: 201).findings.count == 3)
    #expect(try compare(made, minutes: 202, accepting: true).findings.count == 3)
    #expect(try compare(made, minutes: 203).findings.isEmpty)
  }

  @Test func `notices rows that do not open, and a header that is older`() async throws {
    let made = try await makeStore()
    try await made.ask("CREATE TABLE $.header_before AS SELECT * FROM $.header")
    try made.store.addSlot(RawKey(RawKey.random()))
    _ = try compare(made, minutes: 0)
    try await made.ask(
      """
      UPDATE $.item SET version = version + 1 WHERE tag = (
        SELECT tag FROM $.item ORDER BY tag LIMIT 1
      )
      """)
    try await made.ask("DELETE FROM $.header; INSERT INTO $.header SELECT * FROM $.header_before")
    let tag = try await made.ask("SELECT encode(tag, 'hex') FROM $.item ORDER BY tag LIMIT 1")
    let expected: Set<ComparisonReport.Finding> = [.damaged(tag: tag), .olderHeader]
    #expect(try compare(made, minutes: 1).findings == expected)
    #expect(try compare(made, minutes: 2).findings == expected)
    _ = try compare(made, minutes: 3, accepting: true)
    #expect(try compare(made, minutes: 4).findings == [.damaged(tag: tag)])
  }

  @Test func `keeps 40 bytes for each row, in as few parts as there are rows for`()
    async throws
  {
    let made = try await StoreOnServer()
    let count = TestSize.choose(small: 1500, medium: 1500, large: 250_000)
    try made.fill(count)
    _ = try compare(made, minutes: 0)
    let sizes = try kept()
    #expect(sizes.reduce(0, +) == 32 + 40 * count)
    #expect(sizes.count == 1 + (count + 99_999) / 100_000)
    #expect(try compare(made, minutes: 1).findings.isEmpty)
    // Each database has its own.
    let other = try await StoreOnServer()
    #expect(try other.store.compare(with: keeper).lastTime == nil)
    try await made.ask("DELETE FROM $.item")
    #expect(try compare(made, minutes: 2, accepting: true).findings.count == count)
    #expect(try kept() == [32, 32])
  }

  /// The sizes of what is kept.
  private func kept() throws -> [Int] {
    try keeper.names(in: nil).map { try keeper.value(for: $0)?.byteCount ?? 0 }
  }
}
