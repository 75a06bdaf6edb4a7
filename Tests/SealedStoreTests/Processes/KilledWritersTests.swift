import Foundation
import SealedStore
import SessionToolsBase
import StoreTestSupport
import TestSupport
import TestThreads
import Testing

/// Four writers that change, compact and rotate, and are all killed in every round, while a
/// reader looks on.
///
/// When the last one is dead, the store is held against what they said they had done.
@Suite(.onOwnThread) struct KilledWritersTests {
  static let roundCount = TestSize.choose(small: 50, medium: 500, large: 20_000)
  static let writers = ["a", "b", "c", "d"]

  let scratch: Scratch
  let key: String

  init() throws {
    scratch = try Scratch()
    key = try scratch.writeKeyFile()
    _ = try scratch.create()
  }

  @Test func `killed writers lose no confirmed change, and a reader sees none in part`() throws {
    let reader = try Worker(arguments: ["watch", scratch.path, key] + Self.writers)
    #expect(reader.line() == "ready")
    let store = try scratch.open()
    var tally = Tally()
    var numbers = [String: Int](uniqueKeysWithValues: Self.writers.map { ($0, 0) })
    for round in 0..<Self.roundCount {
      let (confirmed, workers) = try killAll(after: numbers)
      numbers = try check(round.isMultiple(of: 10) ? scratch.open() : store, confirmed, &tally)
      try checkFindings(store)
      try tally.note(journal: scratch.bytes(of: "journal"))
      // Last, because Foundation looks only now and then whether a process has ended.
      for worker in workers { #expect(worker.wait() == -SIGKILL) }
    }
    try reader.endInput()
    let report = reader.lines()
    #expect(reader.wait() == 0, "\(report)")
    #expect((report.last.flatMap { Int($0) } ?? 0) > Self.roundCount)

    // Somebody writes on: nothing of what was left behind is in the way.
    try store.put("value", as: "after")
    let after = try scratch.open()
    #expect(try after.verify().findings.filter { $0.place != .files } == [])
    #expect(try scratch.names() == storeFiles)
    // Rounds in which nothing happened would show nothing.
    #expect(tally.journals > Self.roundCount / 50, "\(tally)")
    #expect(tally.unconfirmed > 0, "\(tally)")
    #expect(numbers.values.allSatisfy { $0 > Self.roundCount / 10 }, "\(numbers)")
  }

  /// What the rounds came to.
  private struct Tally {
    /// Journals that were there at the end of a round.
    var journals = 0
    /// Changes that were there although nobody was told.
    var unconfirmed = 0
    private var journal: [UInt8] = []

    mutating func note(journal bytes: [UInt8]) {
      let identifier = Array(bytes[32..<48])
      if identifier != journal { journals += 1 }
      journal = identifier
    }
  }

  /// Starts the writers and kills one after the other, the first while it opens the store or
  /// later, and those that live on soon after.
  ///
  /// - Returns: The last change that each of them confirmed, and the dead.
  private func killAll(
    after numbers: [String: Int]
  ) throws -> (confirmed: [String: Int], workers: [Worker]) {
    var confirmed = numbers
    let workers = try Self.writers.map { writer in
      let first = numbers[writer, default: 0] + 1
      return (writer, try Worker("churn", scratch.path, key, writer, "\(first)"))
    }.shuffled()
    // A third of the rounds begins with the moment at which the first victim is ready, and a third
    // when it has made a change.
    var heard: [String] = []
    for _ in 0..<Int.random(in: 0..<3) { heard.append(try #require(workers[0].1.line())) }
    for (writer, worker) in workers {
      let lines = worker.lines(for: .microseconds(Int.random(in: 0..<10_000)))
      worker.kill()
      // What it said before it died was confirmed as well. Its output ends with it.
      let said = (heard + lines + worker.lines()).filter { $0 != "ready" }
      heard = []
      guard let last = said.last else { continue }
      let number = try #require(Int(last))
      confirmed[writer] = number
    }
    return (confirmed, workers.map(\.1))
  }

  /// Every writer's items are those after its last confirmed change or after the one that was
  /// under way, and there are no others.
  ///
  /// - Returns: The last change of each that is there.
  private func check(
    _ store: SealedFileStore, _ confirmed: [String: Int], _ tally: inout Tally
  ) throws -> [String: Int] {
    // Settles what the dead have left: otherwise the reader might do so in the midst of what follows.
    _ = try scratch.open()
    var numbers = confirmed
    var expected: [StoreKey: [UInt8]] = [:]
    for (writer, number) in confirmed {
      let first = try StoreKey("first", in: NumberedChange.namespace(of: writer))
      let found = try store.value(for: first).flatMap { NumberedChange.number(of: $0) } ?? 0
      #expect(found == number || found == number + 1, "of \(writer), \(number) was confirmed")
      if found > number { tally.unconfirmed += 1 }
      numbers[writer] = found
      for (key, value) in try NumberedChange(found, of: writer).contents {
        expected[key] = value.copyBytes()
      }
    }
    #expect(try store.contents() == expected)
    return numbers
  }

  /// Nothing was lost, and what is left behind is what the next writer removes.
  private func checkFindings(_ store: SealedFileStore) throws {
    let findings = try store.verify().findings
    let allowed: Set<VerificationReport.Place> = [.mark, .files, .rotation, .headerCopy]
    #expect(findings.allSatisfy { allowed.contains($0.place) && !$0.isDamage }, "\(findings)")
  }
}
