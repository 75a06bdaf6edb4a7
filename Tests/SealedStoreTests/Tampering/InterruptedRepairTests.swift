import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestThreads
import Testing

/// Repairs that are stopped at any call, or disturbed by another process.
@Suite(.onOwnThread) struct InterruptedRepairTests {
  private let store: TamperedStore

  init() throws {
    store = try TamperedStore()
  }

  private var scratch: Scratch { store.scratch }

  /// Repairs a copy of damaged files on a failing disk, and opens it on a sound one.
  private func repaired(
    _ damaged: RecordedDisk.Content, at path: String, on disk: FaultyFileSystem
  ) throws -> SealedFileStore {
    try RecordedDisk.write(damaged, to: path)
    _ = try code {
      _ = try SealedFileStore.open(
        at: path, key: scratch.key,
        environment: StoreEnvironment(fileSystem: disk, repairLease: .zero)
      ).repair()
    }
    return try SealedFileStore.open(
      at: path, key: scratch.key, environment: StoreEnvironment(repairLease: .zero))
  }

  @Test func `a repair that stops at any call loses nothing that could be salvaged`() throws {
    try scratch.flip("journal", at: JournalLayout.start(ofRecord: 2) + JournalLayout.chainValue)
    try scratch.flip("header.copy", at: 40)
    let damaged = try RecordedDisk.read(scratch.path)
    var number = 1
    while true {
      let disk = FaultyFileSystem { [number] in $0.number >= number ? .fail(EIO) : nil }
      let opened = try repaired(damaged, at: scratch["repair \(number)"], on: disk)
      if try !opened.verify().isSound { #expect(try opened.repair().lostRecordCount == 0) }
      #expect(store.wrongAnswer(of: opened) == nil)
      #expect(try opened.text("a") == "second of a", "\(number)")
      try opened.put("after", as: "after")
      #expect(try opened.verify().findings.allSatisfy { $0.part == .files }, "\(number)")
      if disk.calls.count < number { break }
      number += 1
    }
    #expect(number > 50)
  }

  @Test func `a repair that stops at any call keeps all items that could be read before`() throws {
    let opened = try scratch.open()
    let mark = try scratch.bytes(of: "mark")
    try opened.compact()
    // A crash left the mark of the previous journal; later one value was damaged.
    try scratch.overwrite("mark", with: mark)
    try scratch.flip("journal", at: JournalLayout.start(ofRecord: 1) + JournalLayout.value)
    let truth = try readable(scratch.open())
    #expect(truth.count == 3)
    let damaged = try RecordedDisk.read(scratch.path)
    for failure in [EIO, ENOSPC] {
      var number = 1
      while true {
        let disk = FaultyFileSystem { [number] in
          $0.number == number || failure == EIO && $0.number > number ? .fail(failure) : nil
        }
        let opened = try repaired(
          damaged, at: scratch["repair \(failure) \(number)"], on: disk)
        #expect(try readable(opened) == truth, "\(number)")
        let report = try opened.repair()
        #expect(report.isEndConfirmed, "\(number)")
        #expect(!report.wasNeeded || report.lostRecordCount == 1, "\(number)")
        #expect(try opened.texts() == truth, "\(number)")
        if disk.calls.count < number { break }
        number += 1
      }
      #expect(number > 50)
    }
  }

  /// Returns the items whose values can be read.
  private func readable(_ opened: SealedFileStore) throws -> [String: String] {
    var items: [String: String] = [:]
    for name in store.truth.keys {
      do throws(StoreError) {
        items[name] = try opened.text(name)
      } catch {
        #expect(error.code == .corrupt)
      }
    }
    return items
  }

  @Test func `cutting a journal below its head at any moment of a repair does not crash`() throws {
    try scratch.flip("journal", at: JournalLayout.start(ofRecord: 2) + JournalLayout.chainValue)
    try repairWhileCutting(RecordedDisk.read(scratch.path), to: 10)
  }

  @Test func `cutting a journal without items at any moment of a repair does not crash`() throws {
    let empty = try SealedFileStore.create(at: scratch["empty"], key: scratch.key)
    try empty.put("a", as: "a")
    try empty.remove(name("a"))
    let value = JournalLayout.start(ofRecord: 1) + JournalLayout.value
    try Scratch.flip(scratch["empty/journal"], at: value)
    try repairWhileCutting(RecordedDisk.read(empty.path), to: JournalLayout.headByteCount + 12)
  }

  /// Repairs a damaged store repeatedly, and cuts its journal at each call in turn.
  private func repairWhileCutting(_ damaged: RecordedDisk.Content, to byteCount: Int) throws {
    var number = 1
    while true {
      let path = scratch["repair \(number)"]
      try RecordedDisk.write(damaged, to: path)
      let disk = FaultyFileSystem { [number] in
        if $0.number == number { #expect(unsafe truncate("\(path)/journal", byteCount) == 0) }
        return nil
      }
      let outcome = try code {
        _ = try SealedFileStore.open(
          at: path, key: scratch.key,
          environment: StoreEnvironment(fileSystem: disk, repairLease: .zero)
        ).repair()
      }
      #expect([nil, StoreError.corrupt].contains(outcome), "\(number)")
      if disk.calls.count < number { break }
      number += 1
    }
    #expect(number > 50)
  }
}
