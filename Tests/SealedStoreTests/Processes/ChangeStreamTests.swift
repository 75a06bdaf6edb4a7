import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestThreads
import Testing

@Suite(.onOwnThread) struct ChangeStreamTests {
  let scratch: Scratch
  let store: SealedFileStore

  init() throws {
    scratch = try Scratch()
    store = try scratch.create()
    try scratch.open().put("value", as: "before")
  }

  @Test func `own changes arrive, all of a list, but no item from before`()
    async throws
  {
    let changes = store.changes()
    try await store.put(secret("1"), for: name("a"))
    let a = try await identifiers(of: changes, until: "a")
    #expect(a == ["a"])
    try await store.apply([
      .put(secret("2"), for: name("b")), .remove(name("a")), .put(secret("3"), for: name("c")),
    ])
    try await store.put(secret("4"), for: name("end"))
    let end = try await identifiers(of: changes, until: "end")
    #expect(end == ["a", "b", "c", "end"])
  }

  @Test func `changes of another handle and of another process arrive`() async throws {
    let changes = store.changes()
    try await scratch.open().put(secret("1"), for: name("handle"))
    try await news(of: "handle", in: changes)
    let worker = try Worker("put", scratch.path, scratch.writeKeyFile(), "process", "value")
    try await news(of: "process", in: changes)
    #expect(worker.lines() == ["done"])
    let value = try await store.value(for: ItemName("process", in: "worker"))
    #expect(value == secret("value"))
  }

  @Test func `changes by others arrive while the user has no notifications left, with a notice`()
    async throws
  {
    // The real limit, in a user namespace of its own.
    let none = "echo 0 > /proc/sys/user/max_inotify_instances; exec \"$@\""
    let watching = try Worker(
      arguments: ["watch-changes", scratch.path, scratch.writeKeyFile()],
      under: ["unshare", "-Ur", "sh", "-c", none, "sh"])
    let notice =
      "Changes by other processes are reported up to 2 s later, because the kernel gives no "
      + "notifications of changes: all that fs.inotify.max_user_instances allows are in use."
    #expect(Set([watching.line(), watching.line()]) == ["ready", notice])
    for item in ["first", "second"] {
      try await store.put(secret("1"), for: name(item))
      #expect(watching.line() == "changed [\"\(item)\"]")
    }
    // A store that cannot be followed is reported once, not at each look.
    try scratch.flip("mark", at: 20)
    #expect(watching.line() == "resynchronize")
    #expect(watching.lines(for: .seconds(5)) == [])
  }

  @Test(
    .enabled(
      if: geteuid() == 0 && FileManager.default.isExecutableFile(atPath: "/usr/bin/bindfs"),
      "this needs bindfs, and root, who can end a mount with its process"))
  func `changes arrive through a file system that does not notify of them`() async throws {
    let view = scratch["view"]
    try FileManager.default.createDirectory(atPath: view, withIntermediateDirectories: false)
    // As another machine changes files on NFS.
    let watching = try Worker(
      arguments: ["watch-changes", view, scratch.writeKeyFile()],
      under: [
        "unshare", "-m", "sh", "-c",
        """
        bindfs -f -o direct_io "$0" "$1" & until mountpoint -q "$1"; do sleep 0.1; done
        daemon=$!; shift; "$@"; kill $daemon
        """,
        scratch.path, view,
      ])
    #expect(watching.line() == "ready")
    for item in ["first", "second"] {
      try await store.put(secret("1"), for: name(item))
      #expect(watching.line() == "changed [\"\(item)\"]")
    }
  }

  @Test func `all streams of a store report the same changes`() async throws {
    let streams = (0..<3).map { _ in store.changes() }
    try await store.put(secret("1"), for: name("a"))
    for stream in streams {
      let reported = try await identifiers(of: stream, until: "a")
      #expect(reported == ["a"])
    }
  }

  @Test func `a rotation by any handle causes a resynchronization`() async throws {
    let changes = store.changes()
    try await store.onThread { store throws(StoreError) in try store.rotate() }
    try await resynchronization(in: changes)
    let other = try scratch.open()
    try await other.onThread { store throws(StoreError) in try store.rotate() }
    try await resynchronization(in: changes)
    try await other.put(secret("1"), for: name("after"))
    try await news(of: "after", in: changes)
  }

  @Test func `unlocking causes a resynchronization, and changes arrive again`() async throws {
    let changes = store.changes()
    store.lock()
    try await scratch.open().put(secret("1"), for: name("unseen"))
    try store.unlock(with: scratch.key)
    try await resynchronization(in: changes)
    try await store.put(secret("1"), for: name("after"))
    try await news(of: "after", in: changes)
  }

  @Test func `damage causes a resynchronization, so that the next read reports it`() async throws {
    let changes = store.changes()
    try scratch.flip("mark", at: 20)
    try await resynchronization(in: changes)
    #expect(try code { _ = try store.names(in: nil) } == StoreError.corrupt)
  }

  @Test func `different damage is reported again`() async throws {
    let changes = store.changes()
    for offset in [20, 21] {
      try scratch.flip("mark", at: offset)
      try await resynchronization(in: changes)
    }
  }

  @Test func `removing the mark is reported, even right after the names were checked`()
    async throws
  {
    let changes = store.changes()
    try await Task.sleep(for: .milliseconds(150))
    #expect(try await store.value(for: name("before")) == secret("value"))
    try FileManager.default.removeItem(atPath: scratch.file("mark"))
    try await resynchronization(in: changes)
  }

  @Test func `reporting a change opens no value`() async throws {
    // The copy is the same store with one more change, whose value is damaged.
    let copy = scratch["copy"]
    try FileManager.default.copyItem(atPath: scratch.path, toPath: copy)
    try await SealedFileStore.open(at: copy, key: scratch.key).put(secret("1"), for: name("a"))
    var journal = try [UInt8](Data(contentsOf: URL(filePath: "\(copy)/journal")))
    let mark = try [UInt8](Data(contentsOf: URL(filePath: "\(copy)/mark")))
    let end = RecordedDisk.withoutReserve(journal, mark: mark).count
    journal[end - 40] ^= 1

    let changes = store.changes()
    try scratch.overwrite("journal", with: journal)
    try scratch.overwrite("mark", with: mark)
    let first = try await within(.seconds(60)) {
      for await event in changes { return event }
      throw TooLate()
    }
    #expect(try first == .changed([name("a")]))
    #expect(try code { _ = try store.value(for: name("a")) } == StoreError.corrupt)
  }

  @Test func `a stream reports no earlier change, even if another stream has ended`()
    async throws
  {
    do {
      let earlier = store.changes()
      try await store.put(secret("1"), for: name("earlier"))
      _ = try await identifiers(of: earlier, until: "earlier")
    }
    try await store.put(secret("2"), for: name("between"))
    let changes = store.changes()
    try await store.put(secret("3"), for: name("after"))
    let reported = try await identifiers(of: changes, until: "after")
    #expect(reported == ["after"])
  }

  @Test func `an event that changes no item is not reported`() async throws {
    let changes = store.changes()
    let kept = scratch["kept"]
    for number in 0..<5 {
      // A new name wakes the watcher; the sleep gives it time to check the files.
      #expect(FileManager.default.createFile(atPath: scratch.file("stray"), contents: nil))
      try FileManager.default.moveItem(atPath: scratch.file("stray"), toPath: "\(kept)\(number)")
      try await Task.sleep(for: .milliseconds(20))
    }
    try await store.put(secret("1"), for: name("end"))
    let first = try await within(.seconds(60)) {
      for await event in changes { return event }
      throw TooLate()
    }
    #expect(try first == .changed([name("end")]))
  }

  @Test func `a journal that lost reported changes causes a resynchronization`() async throws {
    let (journal, mark) = (try scratch.bytes(of: "journal"), try scratch.bytes(of: "mark"))
    try await store.put(secret("1"), for: name("lost"))
    let changes = store.changes()
    try scratch.overwrite("journal", with: journal)
    try scratch.overwrite("mark", with: mark)
    let first = try await within(.seconds(60)) {
      for await event in changes { return event }
      throw TooLate()
    }
    #expect(first == .resynchronize)
  }

  @Test func `a write is checked once, not repeatedly`() async throws {
    let disk = FaultyFileSystem()
    let watching = try scratch.open(StoreEnvironment(fileSystem: disk))
    let changes = watching.changes()
    disk.setRule(nil)
    for number in 0..<20 {
      try await store.put(secret("value"), for: name("\(number)"))
      _ = try await identifiers(of: changes, until: "\(number)")
    }
    // Every change writes the journal and the mark, and each write is one event.
    let pollCount = disk.calls.count { $0.kind == .read && $0.name == "mark" }
    #expect(20...60 ~= pollCount)
  }

  @Test func `own changes arrive even if the system allows no more watches`() throws {
    let worker = try Worker("listen-alone", scratch.path, scratch.writeKeyFile(), "alone")
    #expect(worker.lines(for: .seconds(60)) == ["changed [\"alone\"]"])
  }

  /// The system allows no more watches, so older files are not reported while the store is locked.
  @Test func `unlocking with older files, and the next change, cause a resynchronization`() throws {
    let worker = try Worker("listen-to-older", scratch.path, scratch.writeKeyFile(), "new")
    #expect(worker.lines(for: .seconds(60)) == ["resynchronize", "resynchronize"])
  }

  @Test func `own changes arrive even if the mark cannot be written`() async throws {
    let changes = store.changes()
    // A file with two names is never written.
    try FileManager.default.linkItem(atPath: scratch.file("mark"), toPath: scratch["other"])
    for identifier in ["a", "b", "c"] {
      try await store.put(secret("1"), for: name(identifier))
      try await news(of: identifier, in: changes)
    }
  }

  @Test func `streams end with their store`() async throws {
    var store: SealedFileStore? = try scratch.open()
    let changes = try #require(store).changes()
    store = nil
    try await within(.seconds(60)) {
      for await _ in changes {}
    }
  }

  @Test func `a store whose directory was removed still makes streams`() async throws {
    let stream = store.changes()
    try FileManager.default.removeItem(atPath: scratch.path)
    let other = store.changes()
    withExtendedLifetime((stream, other)) {}
    #expect(try code { try store.put("new", as: "before") } != nil)
  }

  /// Returns the identifiers that a stream reports, up to the expected last identifier.
  private func identifiers(
    of changes: AsyncStream<StoreEvent>, until last: String
  ) async throws -> Set<String> {
    try await within(.seconds(60)) {
      var seen: Set<String> = []
      for await event in changes {
        if case .changed(let names) = event { seen.formUnion(names.map(\.identifier)) }
        if seen.contains(last) { break }
      }
      return seen
    }
  }

  /// Waits for an event that reports a change of an item, alone or among others.
  private func news(of identifier: String, in changes: AsyncStream<StoreEvent>) async throws {
    let isReported = try await within(.seconds(60)) { [store] in
      for await event in changes where event.concerns(identifier) {
        if try await store.onThread({ store throws(StoreError) in
          try store.names(in: nil).contains { $0.identifier == identifier }
        }) {
          return true
        }
      }
      return false
    }
    #expect(isReported)
  }

  private func resynchronization(in changes: AsyncStream<StoreEvent>) async throws {
    let isReported = try await within(.seconds(60)) {
      for await event in changes where event == .resynchronize { return true }
      return false
    }
    #expect(isReported)
  }
}

extension StoreEvent {
  /// Returns whether an item with this identifier, in any namespace, may have changed.
  fileprivate func concerns(_ identifier: String) -> Bool {
    switch self {
    case .changed(let names): names.contains { $0.identifier == identifier }
    case .resynchronize: true
    }
  }
}

private struct TooLate: Error {}

/// Runs a closure with a deadline that is so long that only a fault can exceed it.
private func within<Value: Sendable>(
  _ deadline: Duration, _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
  try await withThrowingTaskGroup(of: Value.self) { group in
    group.addTask { try await body() }
    group.addTask {
      try await Task.sleep(for: deadline)
      throw TooLate()
    }
    defer { group.cancelAll() }
    guard let value = try await group.next() else { throw TooLate() }
    return value
  }
}
