import CSodium
import Foundation
import SealedStore
import SessionToolsBase
import StoreTestSupport
import Testing

/// Looks for keys in the memory of a process that used a store.
@Suite struct KeyMemoryTests {
  let scratch: Scratch

  init() throws {
    scratch = try Scratch()
  }

  /// A sanitizer maps terabytes of its own, and makes nothing of locking memory.
  static let isSanitized =
    unsafe dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil

  @Test(.disabled(if: isSanitized, "a sanitizer's memory cannot be searched"))
  func `locking leaves no key in memory, and opening keeps none of what unwrapped it`() throws {
    let seed: UInt64 = 20_261_121
    let worker = try Worker("keys", scratch.path, scratch.writeKeyFile(), "\(seed)")
    // The store takes its identifier, then the store key, then the data key.
    let storeKey = SeededRandom.bytes(32, seed: seed, number: 2)
    let dataKey = SeededRandom.bytes(32, seed: seed, number: 3)
    let keys = [
      "store key": storeKey, "data key": dataKey, "header key": derived(1, from: storeKey),
      "name key": derived(2, from: dataKey), "record key": derived(3, from: dataKey),
      "chain key": Array(derived(4, from: dataKey)[..<16]),
    ]
    let raw = ["raw key": scratch.keyBytes.copyBytes()]

    for state in ["open", "locked", "unlocked", "locked again"] {
      #expect(worker.line() == state)
      let found = try found(keys, in: worker)
      if state.hasPrefix("locked") {
        #expect(found == [], "while \(state)")
      } else {
        // That they are found here shows that the search finds what is there.
        #expect(found == Set(keys.keys), "while \(state)")
      }
      #expect(try self.found(raw, in: worker) == [], "while \(state)")
      try worker.send()
    }
    #expect(worker.wait() == 0)
  }

  private func derived(_ identifier: UInt64, from key: [UInt8]) -> [UInt8] {
    var out = [UInt8](repeating: 0, count: 32)
    let context: [CChar] = Array("SSNTOOLS".utf8CString.prefix(8))
    _ = unsafe crypto_kdf_derive_from_key(&out, 32, identifier, context, key)
    return out
  }

  /// The names of the keys that stand in the memory of another process.
  private func found(_ keys: [String: [UInt8]], in worker: Worker) throws -> Set<String> {
    let maps = try run("cat", "/proc/\(worker.identifier)/maps").output
    let files = LinuxFileSystem()
    let memory = try files.open(
      "/proc/\(worker.identifier)/mem", in: .workingDirectory, .read)
    defer { files.close(memory) }
    var found: Set<String> = []
    for line in maps.split(separator: "\n") {
      let fields = line.split(separator: " ")
      let bounds = fields[0].split(separator: "-").compactMap { Int($0, radix: 16) }
      guard bounds.count == 2, fields[1].hasPrefix("rw") else { continue }
      let buffer = ByteBuffer(byteCount: bounds[1] - bounds[0])
      let count = try files.read(memory, at: bounds[0], into: buffer, 0..<buffer.byteCount)
      for (name, key) in keys where contains(buffer, count, key) { found.insert(name) }
    }
    return found
  }

  private func contains(_ buffer: ByteBuffer, _ count: Int, _ key: [UInt8]) -> Bool {
    guard count >= key.count else { return false }
    var start = unsafe buffer.pointer(to: 0..<count)
    let end = unsafe start + (count - key.count + 1)
    while unsafe start < end, let hit = unsafe memchr(start, Int32(key[0]), end - start) {
      if unsafe memcmp(hit, key, key.count) == 0 { return true }
      unsafe start = hit + 1
    }
    return false
  }

  @Test(.disabled(if: isSanitized, "a sanitizer pretends to lock memory"))
  func `a store whose keys cannot be kept out of swap says so and works`() throws {
    let place = scratch["nobody"]
    try FileManager.default.createDirectory(
      atPath: place, withIntermediateDirectories: false,
      attributes: [.posixPermissions: 0o700])
    if geteuid() == 0 {
      #expect(unsafe chown(place, 65534, 65534) == 0)
      #expect(unsafe chmod(scratch.place, 0o711) == 0)
    }
    let worker = try Worker("memory-limit", "\(place)/store", "\(place)/key")
    #expect(
      worker.lines() == ["notice \(StoreNotice.keyMemoryNotLocked)", "locked: false", "works"])
    #expect(worker.wait() == 0)
  }

  @Test func `a store whose keys are kept out of swap says so`() throws {
    let notices = Notices()
    let store = try scratch.create(onNotice: notices)
    #expect(store.isKeyMemoryLocked)
    #expect(notices.all == [])
  }

  @Test func `a forked child is refused everything, and the parent goes on`() throws {
    _ = try scratch.create()
    let worker = try Worker("fork", scratch.path, scratch.writeKeyFile())
    let lines = worker.lines()
    #expect(worker.wait() == 0)
    let operations = [
      "value", "contains", "keys", "put", "remove", "exclusive", "compact", "rotate", "verify",
      "addSlot",
    ]
    #expect(
      lines == operations.map { "\($0) unavailable" } + ["child ended with 0", "parent ok"])
    #expect(try scratch.open().contents().values.map { $0 } == [Array("parent".utf8)])
  }
}
