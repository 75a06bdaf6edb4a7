import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestThreads
import Testing

/// Tests of an attacker who restores files of a store, each from a different time.
@Suite(.onOwnThread) struct GenerationTests {
  let scratch: Scratch

  init() throws {
    scratch = try Scratch()
  }

  /// A store after one of the steps of its life.
  private struct Generation {
    let files: RecordedDisk.Content
    let items: [String: String]
  }

  /// Makes six generations.
  ///
  /// Between them are a change, a compaction, a change of slots, a rotation and a second
  /// compaction.
  private func generations() throws -> [Generation] {
    let store = try scratch.create()
    let second = try RawKey(RawKey.random(), label: "second")
    try store.put("0", as: "a")
    try store.put("0", as: "b")
    let steps: [() throws -> Void] = [
      {}, { try store.put("1", as: "a") }, { _ = try store.compact() },
      { try store.addSlot(second) }, { try store.rotate() },
      {
        try store.remove(name("b"))
        _ = try store.compact()
      },
    ]
    return try steps.enumerated().map { number, step in
      try step()
      // This value identifies the generation.
      try store.put("\(number)", as: "generation")
      return Generation(files: try RecordedDisk.read(scratch.path), items: try store.texts())
    }
  }

  /// The result of a combination of old and new files.
  private enum Outcome: Hashable {
    case newest
    case refused
    /// An older state, which verifying the store reports.
    case reported
    /// An older state of journal and mark, which the files do not reveal.
    case undetected
  }

  private func outcome(_ all: [Generation], journal: Int, mark: Int) throws -> Outcome {
    let found: [String: String]
    let findings: [VerificationReport.Finding]
    do throws(StoreError) {
      let store = try scratch.open()
      findings = try store.verify().findings
      found = try store.texts()
    } catch {
      #expect(error.code == .corrupt, "\(error)")
      return .refused
    }
    if found == all.last?.items { return .newest }
    // Whatever is restored, the items must be those of a former state.
    #expect(found == all[journal].items)
    #expect(mark <= journal, "a journal older than its mark")
    return findings.isEmpty ? .undetected : .reported
  }

  @Test func `files of different ages give the newest state, an error or a finding`() throws {
    let all = try generations()
    var counts: [Outcome: Int] = [:]
    for header in all.indices {
      for copy in all.indices {
        for journal in all.indices {
          for mark in all.indices {
            for (name, generation) in [
              ("header", header), ("header.copy", copy), ("journal", journal), ("mark", mark),
            ] {
              try scratch.overwrite(name, with: all[generation].files[name] ?? [])
            }
            let outcome = try outcome(all, journal: journal, mark: mark)
            counts[outcome, default: 0] += 1
            // With the newest mark, no older state may pass.
            if mark == all.count - 1 { #expect([.newest, .refused].contains(outcome)) }
          }
        }
      }
    }
    #expect(counts[.newest, default: 0] > 0)
    #expect(counts[.refused, default: 0] > 400)
  }

  @Test(arguments: 0..<5)
  func `with an anchor even restoring the whole directory is detected`(generation: Int) throws {
    let vault = Vault()
    var store = try SealedFileStore.create(
      at: scratch.path, key: scratch.key, options: .init(anchor: vault.keeper))
    var all: [RecordedDisk.Content] = []
    for number in 0...5 {
      switch number {
      case 2: try store.compact()
      case 4: try store.rotate()
      default: break
      }
      try store.put("\(number)", as: "generation")
      all.append(try RecordedDisk.read(scratch.path))
    }
    for (name, content) in all[generation] { try scratch.overwrite(name, with: content) }
    store = try SealedFileStore.open(
      at: scratch.path, key: scratch.key, options: .init(anchor: vault.keeper))
    #expect(try code { _ = try store.text("generation") } == StoreError.corrupt)
    #expect(try code { try store.put("x", as: "generation") } == StoreError.corrupt)
    #expect(try !store.verify().isSound)
    #expect(try scratch.open().text("generation") == "\(generation)")

    // A repair accepts the restored state.
    #expect(try store.repair().wasNeeded)
    #expect(try store.text("generation") == "\(generation)")
    #expect(try store.verify().isSound)
    let again = try SealedFileStore.open(
      at: scratch.path, key: scratch.key, options: .init(anchor: vault.keeper))
    #expect(try again.text("generation") == "\(generation)")
  }
}
