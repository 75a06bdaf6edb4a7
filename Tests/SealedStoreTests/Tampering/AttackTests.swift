import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestThreads
import Testing

/// Tests of attacks without a key, with old copies of a store's files.
@Suite(.onOwnThread) struct AttackTests {
  let scratch: Scratch
  private let names = ["k1", "k2", "k3", "k4"]

  init() throws {
    scratch = try Scratch()
  }

  /// All states of a store, with its files in each of them.
  private struct Life {
    private(set) var states: [[String: String]] = []
    private(set) var files: [RecordedDisk.Content] = []

    mutating func note(_ store: SealedFileStore, at path: String) throws {
      states.append(try store.texts())
      files.append(try RecordedDisk.read(path))
    }
  }

  /// Opens the store and returns a wrong answer of it, or `nil`.
  ///
  /// The answers are right if they, apart from errors, match one of the states.
  private func wrongAnswer(_ states: [[String: String]]) throws -> String? {
    let store = try scratch.open()
    var answers: [String: String?] = [:]
    for name in names {
      do throws(StoreError) {
        answers[name] = .some(try store.text(name))
      } catch {
        if error.code != .corrupt { return "\(error)" }
      }
    }
    let isState = states.contains { state in answers.allSatisfy { state[$0.key] == $0.value } }
    guard isState else { return "\(answers)" }
    do throws(StoreError) {
      let texts = try store.texts()
      return states.contains(texts) ? nil : "\(texts)"
    } catch {
      return error.code == .corrupt ? nil : "\(error)"
    }
  }

  /// Returns the offsets at which a journal can be cut between two records.
  private func boundaries(of journal: [UInt8]) -> [Int] {
    JournalLayout.records(of: journal).reduce(into: [JournalLayout.headByteCount]) {
      $0.append(($0.last ?? 0) + $1.count)
    }
  }

  enum Rewriting: CaseIterable, Sendable { case compaction, rotation, repair }

  @Test(arguments: Rewriting.allCases)
  func `an old mark and a cut journal never give a state that the store never had`(
    rewriting: Rewriting
  ) throws {
    let store = try scratch.create()
    var life = Life()
    try life.note(store, at: scratch.path)
    for (value, name) in [("1", "k1"), ("1", "k2"), ("1", "k3"), ("newest", "k1")] {
      try store.put(value, as: name)
      try life.note(store, at: scratch.path)
    }
    switch rewriting {
    case .compaction: try store.compact()
    case .rotation: try store.rotate()
    case .repair:
      try scratch.flip("journal", at: JournalLayout.start(ofRecord: 1) + JournalLayout.value)
      _ = try store.repair()
    }
    try life.note(store, at: scratch.path)
    try store.put("2", as: "k4")
    try life.note(store, at: scratch.path)
    let last = try #require(life.files.last)
    let journal = try #require(last["journal"])
    var usedCount = 0
    for mark in life.files.compactMap({ $0["mark"] }) {
      for end in boundaries(of: journal) {
        for reserve in [0, (32 << 10) - end] {
          try scratch.overwrite("mark", with: mark)
          let cut = journal[..<end] + [UInt8](repeating: 0, count: reserve)
          try scratch.overwrite("journal", with: Array(cut))
          #expect(try wrongAnswer(life.states) == nil, "cut at \(end)")
          if try scratch.open().verify().isSound { usedCount += 1 }
        }
      }
    }
    // The mark of the previous journal matches both whole changes, as after a crash; the first mark
    // matches both too, and the last mark matches only the whole journal.
    #expect(usedCount == 2 * (2 + 2 + 1))
  }

  @Test func `a cut journal without its mark cannot be read until it is repaired`() throws {
    let store = try scratch.create()
    for name in names { try store.put("1", as: name) }
    try store.remove(name("k1"))
    let journal = try scratch.bytes(of: "journal")
    try FileManager.default.removeItem(atPath: scratch.file("mark"))
    for end in boundaries(of: journal) {
      try scratch.overwrite("journal", with: Array(journal[..<end]))
      let files = try RecordedDisk.read(scratch.path)
      let opened = try scratch.open()
      for name in names {
        #expect(try code { _ = try opened.text(name) } == StoreError.corrupt)
      }
      #expect(try code { _ = try opened.names(in: nil) } == StoreError.corrupt)
      #expect(try code { try opened.put("x", as: "k1") } == StoreError.corrupt)
      #expect(try opened.verify().findings.contains { $0.part == .mark && $0.isDamage })
      let isUntouched = try RecordedDisk.read(scratch.path) == files
      #expect(isUntouched)
    }
    #expect(try !scratch.open().repair().isEndConfirmed)
  }
}
