import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Conditional changes that share commits; what every conditional store does is tested in
/// `SessionToolsTests`.
@Suite(.onOwnThread, .timeLimit(.minutes(10))) struct ConditionalCommitTests {
  let scratch: Scratch
  let disk: FaultyFileSystem
  let store: SealedFileStore

  init() throws {
    scratch = try Scratch()
    disk = FaultyFileSystem()
    store = try scratch.create(StoreEnvironment(fileSystem: disk))
  }

  private struct Request: Sendable {
    let change: StoreChange
    let condition: ItemCondition?

    init(_ change: StoreChange, if condition: ItemCondition? = nil) {
      self.change = change
      self.condition = condition
    }
  }

  private enum Answer: Equatable {
    case outcome(ChangeOutcome)
    case error(StoreError.Code)

    static let made = Self.outcome(.made)
    static let otherItem = Self.outcome(.otherItem)
    static let noItem = Self.outcome(.noItem)
  }

  /// Makes changes in one batch, in order, and returns the answer to each.
  private func answers(
    of requests: [Request], _ rule: FaultyFileSystem.Rule? = nil
  ) throws -> [Answer] {
    let answers = Locked<[Int: Answer]>([:])
    try inOneBatch(requests.count, in: store, on: disk, rule) { thread in
      let request = requests[thread - 1]
      let answer: Answer
      do throws(StoreError) {
        if let condition = request.condition {
          answer = .outcome(try store.apply([request.change], if: condition))
        } else {
          try store.apply([request.change])
          answer = .made
        }
      } catch {
        answer = .error(error.code)
      }
      answers.withLock { $0[thread] = answer }
    }
    return try (1...requests.count).map { try #require(answers.value[$0]) }
  }

  private func put(_ text: String, as identifier: String) throws -> StoreChange {
    .put(secret(text), for: try name(identifier))
  }

  private func stored(_ text: String, as identifier: String) throws -> ItemCondition {
    .stored(try name(identifier), isOneOf: [ItemVersion(secret(text))])
  }

  private func absent(_ identifier: String) throws -> ItemCondition {
    .isAbsent(try name(identifier))
  }

  @Test func `a condition is compared with what earlier changes of its batch leave`() throws {
    let answers = try answers(of: [
      Request(put("1", as: "item")),
      Request(put("2", as: "item"), if: absent("item")),
      Request(put("3", as: "item"), if: stored("1", as: "item")),
      Request(put("4", as: "item"), if: stored("1", as: "item")),
      Request(.remove(name("item"))),
      Request(put("6", as: "item"), if: stored("3", as: "item")),
      Request(put("7", as: "item"), if: absent("item")),
      Request(put("8", as: "other"), if: stored("7", as: "item")),
    ])
    #expect(
      answers == [
        .made, .otherItem, .made, .otherItem,
        .made, .noItem, .made, .made,
      ])
    #expect(disk.count(.synchronizeData) == 2)
    let reopened = try scratch.open()
    #expect(try reopened.texts() == ["first": "first", "item": "7", "other": "8"])
    #expect(try reopened.verify().findings == [])
  }

  @Test func `a batch without a condition that is met writes nothing`() throws {
    try store.put("old", as: "item")
    let answers = try answers(
      of: (1...8).map { number in
        Request(
          try put("\(number)", as: "item"),
          if: number.isMultiple(of: 2) ? try absent("item") : try stored("new", as: "item"))
      })
    #expect(answers == Array(repeating: Answer.otherItem, count: 8))
    #expect(disk.count(.synchronizeData) == 1)
    #expect(try scratch.open().texts() == ["first": "first", "item": "old"])
  }

  @Test func `a condition alone is compared with one look, and writes nothing if it is not met`()
    throws
  {
    try store.put("old", as: "item")
    disk.setRule(nil)
    let change = try put("new", as: "item")
    #expect(try store.apply([change], if: absent("item")) == .otherItem)
    #expect(try store.apply([change], if: stored("x", as: "item")) == .otherItem)
    #expect(try store.apply([], if: stored("old", as: "item")) == .made)
    #expect(disk.count(.write) == 0 && disk.count(.synchronizeData) == 0)
    #expect(try store.apply([change], if: stored("old", as: "item")) == .made)
    #expect(disk.count(.synchronizeData) == 1)
  }

  /// The record is replaced in the open store, which walked the chain before.
  @Test func `a damaged item is an error for those alone who compare it`() throws {
    try store.put("older", as: "item")
    try store.put("newer", as: "item")
    try store.put("x", as: "last")
    var journal = try scratch.bytes(of: "journal")
    let copy = JournalLayout.records(of: journal)[0]
    let start = JournalLayout.start(ofRecord: 2)
    journal.replaceSubrange(start..<start + copy.count, with: copy)
    try scratch.overwrite("journal", with: journal)
    let answers = try answers(of: [
      Request(put("1", as: "one"), if: absent("one")),
      Request(put("2", as: "two"), if: stored("newer", as: "item")),
      Request(put("3", as: "three"), if: stored("1", as: "one")),
    ])
    #expect(answers == [.made, .error(.corrupt), .made])
    #expect(try store.text("two") == nil)
    #expect(try store.text("three") == "3")
  }

  @Test func `a condition is compared again when a change before it does not fit`() throws {
    let large = StoreChange.put(
      SecretBytes([UInt8](repeating: 1, count: 3_000_000)), for: try name("item"))
    let answers = try answers(
      of: [Request(large), Request(put("small", as: "item"), if: absent("item"))]
    ) { call in
      // There is room for two megabytes.
      call.kind == .write && call.byteCount > 2_000_000 ? .fail(ENOSPC) : nil
    }
    #expect(answers == [.error(.noSpace), .made])
    #expect(try scratch.open().text("item") == "small")
  }

  @Test func `threads that count up an item by two store objects lose no step`() throws {
    let stores = [store, try scratch.open()]
    try store.put("0", as: "count")
    try inThreads(8) { thread in
      let store = stores[thread % 2]
      for _ in 0..<25 {
        while true {
          let text = try #require(try store.text("count"))
          let next = try put("\(try #require(Int(text)) + 1)", as: "count")
          if try store.apply([next], if: stored(text, as: "count")) == .made { break }
        }
      }
    }
    #expect(try scratch.open().text("count") == "200")
  }
}
