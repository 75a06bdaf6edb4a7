import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Tests of a single writer that is killed at any moment.
@Suite(.onOwnThread) struct KilledWriterTests {
  static let killCount = TestSize.choose(small: 40, medium: 200, large: 4000)

  let scratch: Scratch
  let key: String

  init() throws {
    scratch = try Scratch()
    key = try scratch.writeKeyFile()
    _ = try scratch.create()
  }

  /// Kills one writer after another, each after up to 19 of its own confirmed changes.
  ///
  /// Because of this number, and of the pipe in between, the moment is random.
  @Test(arguments: [100, 60_000])
  func `a killed writer loses no confirmed change and leaves no partial change`(
    valueByteCount: Int
  ) throws {
    let rounds = valueByteCount > 1000 ? Self.killCount / 4 : Self.killCount * 3 / 4
    let notices = Notices()
    let store = try scratch.open(onNotice: notices)
    var confirmed = 0
    for round in 0..<rounds {
      let worker = try Worker(
        "write", scratch.path, key, "w", "\(confirmed + 1)", "\(Int32.max)", "\(valueByteCount)")
      #expect(worker.line() == "ready")
      for _ in 0..<(round * 7 % 20) { confirmed = try number(of: worker.line()) }
      worker.kill()
      #expect(worker.wait() == -SIGKILL)
      // Changes that it reported before it died were confirmed too.
      confirmed = worker.lines().last.flatMap { Int($0) } ?? confirmed

      let last = try check(store, confirmed)
      if round.isMultiple(of: 10) { _ = try check(scratch.open(), confirmed) }
      let findings = try store.verify().findings
      #expect(
        findings.allSatisfy { [.mark, .files, .rotation].contains($0.part) }, "\(findings)")
      confirmed = max(confirmed, last)
    }
    // Another writer continues: the remains do not interfere.
    try store.put("value", as: "after")
    let after = try scratch.open()
    #expect(try after.verify().findings.filter { $0.part != .files } == [])
    for number in 1...max(1, confirmed) where confirmed > 0 {
      #expect(try after.contains(ItemName("w/\(number)", in: "worker")))
    }
    let names = try scratch.names()
    #expect(names.isSubset(of: storeFiles.union(["journal.next"])))
  }

  private func number(of line: String?) throws -> Int {
    try #require(line.flatMap { Int($0) })
  }

  /// Checks that both items are from the same change, the last confirmed change or the next.
  ///
  /// - Returns: The number of that change.
  private func check(_ store: SealedFileStore, _ confirmed: Int) throws -> Int {
    let items = try ["first", "second"].map { item in
      let value = try store.value(for: ItemName("\(item) of w", in: "worker"))
      let text = value.map { String(decoding: $0.copyBytes(), as: UTF8.self) } ?? "0:"
      return try #require(text.split(separator: ":").first.flatMap { Int($0) })
    }
    #expect(items[0] == items[1])
    #expect(items[0] == confirmed || items[0] == confirmed + 1)
    if items[0] > 0 {
      #expect(try store.contains(ItemName("w/\(items[0])", in: "worker")))
    }
    #expect(try !store.contains(ItemName("w/\(items[0] + 1)", in: "worker")))
    return items[0]
  }
}
