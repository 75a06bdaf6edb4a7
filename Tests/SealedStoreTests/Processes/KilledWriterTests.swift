import Foundation
import SealedStore
import SessionToolsBase
import TestSupport
import TestThreads
import Testing

/// A lone writer that is killed at any moment.
@Suite(.onOwnThread) struct KilledWriterTests {
  static let killCount = TestSize.choose(small: 40, medium: 200, large: 4000)

  let scratch: Scratch
  let key: String

  init() throws {
    scratch = try Scratch()
    key = try scratch.writeKeyFile()
    _ = try scratch.create()
  }

  /// One writer after another is killed, each after a number of confirmed changes of its own:
  /// with 1 to 20 of them, and the pipe between, the moment is as random as any.
  @Test(arguments: [100, 60_000])
  func `a killed writer loses no confirmed change and leaves none in part`(valueByteCount: Int)
    throws
  {
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
      // What it said before it died was confirmed as well.
      confirmed = worker.lines().last.flatMap { Int($0) } ?? confirmed

      let last = try check(store, confirmed)
      if round.isMultiple(of: 10) { _ = try check(scratch.open(), confirmed) }
      let findings = try store.verify().findings
      #expect(
        findings.allSatisfy { [.mark, .files, .rotation].contains($0.place) }, "\(findings)")
      confirmed = max(confirmed, last)
    }
    // Somebody writes on: nothing of what was left behind is in the way.
    try store.put("value", as: "after")
    let after = try scratch.open()
    #expect(try after.verify().findings.filter { $0.place != .files } == [])
    for number in 1...max(1, confirmed) where confirmed > 0 {
      #expect(try after.contains(StoreKey("w/\(number)", in: "worker")))
    }
    let names = try scratch.names()
    #expect(names.isSubset(of: storeFiles.union(["journal.next"])))
  }

  private func number(of line: String?) throws -> Int {
    try #require(line.flatMap { Int($0) })
  }

  /// Both items of the last change are of the same one, which is the last confirmed one or the
  /// one after it; its number.
  private func check(_ store: SealedFileStore, _ confirmed: Int) throws -> Int {
    let items = try ["first", "second"].map { item in
      let value = try store.value(for: StoreKey("\(item) of w", in: "worker"))
      let text = value.map { String(decoding: $0.copyBytes(), as: UTF8.self) } ?? "0:"
      return try #require(text.split(separator: ":").first.flatMap { Int($0) })
    }
    #expect(items[0] == items[1])
    #expect(items[0] == confirmed || items[0] == confirmed + 1)
    if items[0] > 0 {
      #expect(try store.contains(StoreKey("w/\(items[0])", in: "worker")))
    }
    #expect(try !store.contains(StoreKey("w/\(items[0] + 1)", in: "worker")))
    return items[0]
  }
}
