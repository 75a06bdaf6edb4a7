import Foundation
import SealedStore
import SessionToolsBase
import StoreTestSupport
import Testing

/// The machine stops after every single step of some operations, with and without what was
/// not synced by then.
@Suite struct CrashReplayTests {
  let scratch: Scratch
  let second: RawKey
  let third: RawKey

  init() throws {
    scratch = try Scratch()
    second = try RawKey(RawKey.random(), label: "second")
    third = try RawKey(RawKey.random(), label: "third")
  }

  /// What a store holds between two operations.
  private struct Moment {
    let items: [String: String]
    let keys: [String: RawKey]
  }

  private typealias Operation = (SealedFileStore) throws -> Void

  /// A recorded life: the steps, and what the store held when each operation had returned.
  private struct Life {
    let steps: [RecordedStep]
    let moments: [Moment]
  }

  private var allKeys: [String: RawKey] {
    ["first": scratch.key, "second": second, "third": third]
  }

  /// Makes a store and does one thing after another, as long as it is not told of a failure.
  private func live(_ operations: [Operation]) throws -> Life {
    let disk = RecordingFileSystem(scratch.path)
    let store = try SealedFileStore.create(
      at: scratch.path, key: scratch.key, environment: StoreEnvironment(fileSystem: disk))
    var moments = [try moment()]
    disk.confirm(0)
    for (number, operation) in operations.enumerated() {
      try operation(store)
      disk.confirm(number + 1)
      moments.append(try moment())
    }
    return Life(steps: disk.steps, moments: moments)
  }

  private func moment() throws -> Moment {
    var keys: [String: RawKey] = [:]
    var items: [String: String] = [:]
    for (name, key) in allKeys {
      guard let store = try? SealedFileStore.open(at: scratch.path, key: key) else { continue }
      keys[name] = key
      items = try contents(of: store)
    }
    return Moment(items: items, keys: keys)
  }

  private func contents(of store: SealedFileStore) throws(StoreError) -> [String: String] {
    var items: [String: String] = [:]
    for (key, value) in try store.contents() {
      items[key.identifier] = String(decoding: value, as: UTF8.self)
    }
    return items
  }

  /// Stops the machine after every step, and checks what is found then.
  private func replay(_ life: Life) throws {
    var disk = RecordedDisk()
    var confirmed = -1
    var crashCount = 0
    var seen: Set<RecordedDisk.Content> = []
    for (position, step) in life.steps.enumerated() {
      disk.perform(step)
      if case .confirmed(let operation) = step {
        confirmed = operation
        // What was allowed before the answer may not be any more.
        seen = []
      }
      for crash in disk.crashes where seen.insert(crash.content).inserted {
        crashCount += 1
        let path = scratch["crash \(crashCount)"]
        try RecordedDisk.write(crash.content, to: path)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let problem = try problem(at: path, life, confirmed)
        #expect(problem == nil, "step \(position), \(step.summary): \(crash.what)")
      }
    }
    #expect(crashCount > life.moments.count)
  }

  /// What is wrong with a store that was found after a crash; `nil` when nothing is.
  private func problem(at path: String, _ life: Life, _ confirmed: Int) throws -> String? {
    guard confirmed >= 0 else { return try problemOfUnfinishedCreation(at: path) }
    // The operation under way has happened as a whole, or not at all.
    let allowed = life.moments[confirmed...].prefix(2)
    let mustOpen = allowed.dropFirst().reduce(Set(allowed[confirmed].keys.keys)) {
      $0.intersection($1.keys.keys)
    }
    var found: [String: String]?
    for (name, key) in allKeys {
      do throws(StoreError) {
        let store = try SealedFileStore.open(at: path, key: key)
        let items = try contents(of: store)
        if found != nil, found != items { return "\(name) finds something else" }
        found = items
        if !allowed.contains(where: { $0.keys[name] != nil }) { return "\(name) opens again" }
        if try !store.verify().isSound { return "not sound: \(try store.verify().findings)" }
      } catch {
        if mustOpen.contains(name) { return "\(name): \(error)" }
        if error.code != StoreError.wrongKey { return "\(name): \(error)" }
      }
    }
    guard let found else { return "no key opens" }
    if !allowed.contains(where: { $0.items == found }) { return "found \(found)" }
    return try problemOfWriting(at: path, found)
  }

  /// Writes on where the crash stopped: nothing that was left behind may be in the way.
  private func problemOfWriting(at path: String, _ found: [String: String]) throws -> String? {
    let openKey = allKeys.values.first { key in
      (try? SealedFileStore.open(at: path, key: key)) != nil
    }
    let key = try #require(openKey)
    do throws(StoreError) {
      let store = try SealedFileStore.open(at: path, key: key)
      try store.put("after", as: "after")
      let again = try SealedFileStore.open(at: path, key: key)
      var items = try contents(of: again)
      if items.removeValue(forKey: "after") != "after" || items != found { return "wrote \(items)" }
      let findings = try again.verify().findings.filter { $0.place != .files }
      return findings.isEmpty ? nil : "\(findings)"
    } catch {
      return "writing: \(error)"
    }
  }

  /// A creation that was not confirmed can be done again, or has made a store.
  private func problemOfUnfinishedCreation(at path: String) throws -> String? {
    let outcome = try code { _ = try SealedFileStore.create(at: path, key: scratch.key) }
    guard outcome == nil || outcome == StoreError.alreadyExists else { return "\(outcome as Any)" }
    do throws(StoreError) {
      let store = try SealedFileStore.open(at: path, key: scratch.key)
      if try !store.keys(in: nil).isEmpty { return "items in a new store" }
      try store.put("after", as: "after")
      return try store.verify().findings.isEmpty ? nil : "\(try store.verify().findings)"
    } catch {
      return "\(error)"
    }
  }

  @Test func `puts, lists and removals are whole after a crash at any step`() throws {
    let long = String(repeating: "long value ", count: 300)
    try replay(
      live([
        { try $0.put("1", as: "a") },
        { try $0.put(long, as: "b") },
        { try $0.put("2", as: "a") },
        {
          try $0.apply([
            .put(secret(long), for: name("c")), .remove(name("b")),
            .put(secret("3"), for: name("a")),
            .put(secret("d"), for: name("d")),
          ])
        },
        { try $0.remove(name("c")) },
        { try $0.put("4", as: "a") },
      ]))
  }

  @Test func `compaction is whole after a crash at any step`() throws {
    try replay(
      live([
        { try $0.apply([.put(secret("1"), for: name("a")), .put(secret("1"), for: name("b"))]) },
        { try $0.put("2", as: "a") },
        { try $0.compact() },
        { try $0.put("3", as: "b") },
        { try $0.compact() },
        { try $0.put("4", as: "a") },
      ]))
  }

  @Test func `changes of slots are whole after a crash at any step`() throws {
    try replay(
      live([
        { try $0.put("1", as: "a") },
        { try $0.addSlot(second) },
        { try $0.put("2", as: "a") },
        { try $0.changeSlot(1, to: third) },
        { try $0.removeSlot(1) },
        { try $0.put("3", as: "a") },
      ]))
  }

  @Test func `rotation and revocation are whole after a crash at any step`() throws {
    try replay(
      live([
        { try $0.apply([.put(secret("1"), for: name("a")), .put(secret("1"), for: name("b"))]) },
        { try $0.addSlot(second) },
        { try $0.rotate() },
        { try $0.put("2", as: "a") },
        { try $0.revoke(keeping: [second]) { _ in true } },
        { try $0.put("3", as: "a") },
        { try $0.rotate() },
      ]))
  }

  @Test func `what a crash left is mended whatever step of the mending is the last`() throws {
    // A write that was cut short is found and cut off; that may be cut short as well.
    let store = try scratch.create()
    try store.put("1", as: "a")
    let journal = try scratch.bytes(of: "journal")
    try store.put(String(repeating: "x", count: 2000), as: "b")
    let whole = try scratch.bytes(of: "journal")
    try scratch.overwrite("journal", with: Array(whole.dropLast(700)))
    try scratch.overwrite("mark", with: [])
    let left = try RecordedDisk.read(scratch.path)
    var number = 1
    while true {
      let path = scratch["mending \(number)"]
      try RecordedDisk.write(left, to: path)
      let disk = FaultyFileSystem { [number] in $0.number >= number ? .fail(EIO) : nil }
      _ = try code {
        try SealedFileStore.open(
          at: path, key: scratch.key, environment: StoreEnvironment(fileSystem: disk)
        ).put("2", as: "a")
      }
      let opened = try SealedFileStore.open(at: path, key: scratch.key)
      let value = try opened.text("a")
      #expect(value == "1" || value == "2")
      #expect(try opened.text("b") == nil)
      try opened.put("3", as: "c")
      #expect(try opened.verify().findings.allSatisfy { $0.place == .files })
      let kept = try FileManager.default.contentsOfDirectory(atPath: path).filter {
        $0.hasPrefix("tail-")
      }
      #expect(kept.count == 1)
      let bytes = try kept.map { Array(try Data(contentsOf: URL(filePath: "\(path)/\($0)"))) }
      #expect(bytes == [Array(whole.dropLast(700)[journal.count...])])
      if disk.calls.count < number { break }
      number += 1
    }
  }
}

extension RecordedStep {
  /// The step without its bytes.
  fileprivate var summary: String {
    if case .write(let file, let offset, let bytes) = self {
      return "write of \(bytes.count) bytes at \(offset) of file \(file)"
    }
    return "\(self)"
  }
}
