import SessionToolsStoreModel
import Testing

/// The oracle's answers for one recorded life, as a crash test asks for them.
@Suite struct CommitOracleTests {
  /// Two changes, a compaction and a change behind it; states are numbered by changes.
  private static let life = {
    var life = RecordedLife()
    life.journals = [
      RecordedLife.Journal(predecessor: nil, key: 0), RecordedLife.Journal(predecessor: 2, key: 0),
    ]
    life.changes = [
      RecordedLife.Change(journal: 0, previous: nil, state: 1),
      RecordedLife.Change(journal: 0, previous: 0, state: 2),
      RecordedLife.Change(journal: 1, previous: nil, state: 2),
      RecordedLife.Change(journal: 1, previous: 2, state: 3),
    ]
    life.marks = [
      RecordedLife.Mark(journal: 0, end: nil), RecordedLife.Mark(journal: 0, end: 0),
      RecordedLife.Mark(journal: 0, end: 1), RecordedLife.Mark(journal: 1, end: 2),
      RecordedLife.Mark(journal: 1, end: 3),
    ]
    return life
  }()

  private let oracle = CommitOracle(life)

  private func answer(
    journal: Int?, mark: Int?, _ standings: [FoundStore.Standing],
    _ adjust: (inout FoundStore) -> Void = { _ in }
  ) -> CommitAnswer {
    var found = FoundStore(
      journal: journal, mark: mark, header: .opens(key: 0), standings: standings)
    adjust(&found)
    return oracle.answer(for: found)
  }

  @Test func `whole changes behind an old mark count`() throws {
    let answer = answer(journal: 0, mark: 0, [.whole, .whole, .absent, .absent])
    #expect(answer.state == 2)
    #expect(oracle.problem(with: answer, confirmed: 2, begun: 2) == nil)
    #expect(oracle.problem(with: answer, confirmed: 3, begun: 3) != nil)
    #expect(oracle.problem(with: answer, confirmed: 1, begun: 1) != nil)
  }

  @Test(
    arguments: [
      FoundStore.Standing.torn(firstRecordOpens: true), .torn(firstRecordOpens: false),
      .tornInside(firstRecordOpens: false),
    ])
  func `a torn last change is dropped`(standing: FoundStore.Standing) throws {
    guard
      case .state(let recovery) = answer(
        journal: 0, mark: 1, [.whole, standing, .absent, .absent])
    else {
      Issue.record("the answer is not a state")
      return
    }
    #expect(recovery.state == 1)
    #expect(recovery.drops && recovery.isNeeded)
  }

  @Test func `a record behind a break is damage`() {
    #expect(
      answer(journal: 0, mark: 0, [.torn(firstRecordOpens: false), .whole, .absent, .absent])
        == .corrupt(.recordBehindBreak))
  }

  @Test func `a journal must be a whole chain up to the mark`() {
    #expect(
      answer(journal: 0, mark: 2, [.whole, .torn(firstRecordOpens: true), .absent, .absent])
        == .corrupt(.journalDoesNotMeetMark))
  }

  @Test func `the predecessor's mark counts the first change`() throws {
    let found = answer(journal: 1, mark: 2, [.absent, .absent, .whole, .absent])
    #expect(found.state == 2)
    guard case .state(let recovery) = found else { return }
    #expect(recovery.isByPredecessor && !recovery.isNeeded)
    #expect(
      answer(journal: 1, mark: 2, [.absent, .absent, .whole, .whole]).state == 3)
    #expect(
      answer(journal: 1, mark: 2, [.absent, .absent, .torn(firstRecordOpens: true), .absent])
        == .corrupt(.unfinishedRewriting))
  }

  @Test func `another journal's mark is damage`() {
    #expect(
      answer(journal: 1, mark: 1, [.absent, .absent, .whole, .absent])
        == .corrupt(.markOfAnotherJournal))
    #expect(
      answer(journal: 0, mark: 3, [.whole, .whole, .absent, .absent])
        == .corrupt(.markOfAnotherJournal))
    #expect(
      answer(journal: 0, mark: nil, [.whole, .whole, .absent, .absent]) == .corrupt(.noMark))
    #expect(
      answer(journal: nil, mark: 0, Array(repeating: .absent, count: 4))
        == .corrupt(.noJournal))
  }

  @Test func `noise behind the changes is dropped`() throws {
    let found = answer(journal: 0, mark: 2, [.whole, .whole, .absent, .absent]) {
      $0.hasNoise = true
    }
    guard case .state(let recovery) = found else {
      Issue.record("the answer is not a state")
      return
    }
    #expect(recovery.state == 2 && recovery.drops)
  }

  @Test func `a journal of another key needs the next header`() throws {
    var life = Self.life
    life.journals[1].key = 1
    let oracle = CommitOracle(life)
    var found = FoundStore(
      journal: 1, mark: 2, header: .opens(key: 0),
      standings: [.absent, .absent, .whole, .absent])
    #expect(oracle.answer(for: found) == .corrupt(.journalOfAnotherKey))
    found.nextHeader = .closed
    #expect(oracle.answer(for: found) == .wrongKey)
    found.nextHeader = .opens(key: 1)
    guard case .state(let recovery) = oracle.answer(for: found) else {
      Issue.record("the answer is not a state")
      return
    }
    #expect(recovery.isUnfinishedRotation && recovery.state == 2)
    found.header = .closed
    #expect(oracle.answer(for: found) == .wrongKey)
    found.header = .missing
    #expect(oracle.answer(for: found) == .corrupt(.noHeader))
  }
}
