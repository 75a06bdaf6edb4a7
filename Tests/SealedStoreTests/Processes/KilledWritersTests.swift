import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Tests of four writers that change, compact and rotate, and are all killed in every round.
///
/// A reader reads the store meanwhile. After each round the store is compared with the changes that
/// the writers reported.
@Suite(.onOwnThread) struct KilledWritersTests {
  static let roundCount = TestSize.choose(small: 50, medium: 250, large: 20_000)
  static let writers = ["a", "b", "c", "d"]

  let scratch: Scratch
  let key: String

  init() throws {
    scratch = try Scratch()
    key = try scratch.writeKeyFile()
    _ = try scratch.create()
  }

  @Test func `killed writers lose no confirmed change, and readers see no partial change`() throws {
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
      // This comes last, because Foundation checks only now and then whether a process has ended.
      for worker in workers { #expect(worker.wait() == -SIGKILL) }
    }
    try reader.endInput()
    let report = reader.lines()
    #expect(reader.wait() == 0, "\(report)")
    #expect((report.last.flatMap { Int($0) } ?? 0) > Self.roundCount)

    // Another writer continues: the remains do not interfere.
    try store.put("value", as: "after")
    let after = try scratch.open()
    #expect(try after.verify().findings.filter { $0.part != .files } == [])
    #expect(try scratch.names() == storeFiles)
    // Rounds in which nothing happened would prove nothing.
    #expect(tally.journals > Self.roundCount / 50, "\(tally)")
    #expect(tally.unconfirmed > 0, "\(tally)")
    #expect(numbers.values.allSatisfy { $0 > Self.roundCount / 10 }, "\(numbers)")
  }

  /// The results of the rounds.
  private struct Tally {
    /// The number of rounds at whose end there was another journal.
    var journals = 0
    /// The number of changes that were made without being reported.
    var unconfirmed = 0
    private var journal: [UInt8] = []

    mutating func note(journal bytes: [UInt8]) {
      let identifier = Array(bytes[32..<48])
      if identifier != journal { journals += 1 }
      journal = identifier
    }
  }

  /// Starts the writers and kills one after the other.
  ///
  /// The first is killed while it opens the store or later, and the others soon after.
  ///
  /// - Returns: The last change that each writer confirmed, and the killed processes.
  private func killAll(
    after numbers: [String: Int]
  ) throws -> (confirmed: [String: Int], workers: [Worker]) {
    var confirmed = numbers
    let workers = try Self.writers.map { writer in
      let first = numbers[writer, default: 0] + 1
      return (writer, try Worker("churn", scratch.path, key, writer, "\(first)"))
    }.shuffled()
    // A third of the rounds begin when the first victim is ready, and a third when it has made a
    // change.
    var heard: [String] = []
    for _ in 0..<Int.random(in: 0..<3) { heard.append(try #require(workers[0].1.line())) }
    for (writer, worker) in workers {
      let lines = worker.lines(for: .microseconds(Int.random(in: 0..<10_000)))
      worker.kill()
      // Changes that it reported before it died were confirmed too. Its output ends with it.
      let said = (heard + lines + worker.lines()).filter { $0 != "ready" }
      heard = []
      guard let last = said.last else { continue }
      let number = try #require(Int(last))
      confirmed[writer] = number
    }
    return (confirmed, workers.map(\.1))
  }

  /// Checks that the store has exactly the items of every writer after its last change.
  ///
  /// This is its last confirmed change, or the change that was in progress.
  ///
  /// - Returns: The number of the last change of each writer in the store.
  private func check(
    _ store: SealedFileStore, _ confirmed: [String: Int], _ tally: inout Tally
  ) throws -> [String: Int] {
    // Recovers the remains of the dead: otherwise the reader might do so during the checks below.
    _ = try scratch.open()
    var numbers = confirmed
    var expected: [ItemName: [UInt8]] = [:]
    for (writer, number) in confirmed {
      let first = try ItemName("first", in: NumberedChange.namespace(of: writer))
      let found = try store.value(for: first).flatMap { NumberedChange.number(of: $0) } ?? 0
      #expect(found == number || found == number + 1, "of \(writer), \(number) was confirmed")
      if found > number { tally.unconfirmed += 1 }
      numbers[writer] = found
      for (name, value) in try NumberedChange(found, of: writer).contents {
        expected[name] = value.copyBytes()
      }
    }
    #expect(try store.contents() == expected)
    return numbers
  }

  /// Checks that nothing was lost, and that the next writer removes all remains.
  private func checkFindings(_ store: SealedFileStore) throws {
    let findings = try store.verify().findings
    let allowed: Set<VerificationReport.Part> = [.mark, .files, .rotation, .headerCopy]
    #expect(findings.allSatisfy { allowed.contains($0.part) && !$0.isDamage }, "\(findings)")
  }
}
