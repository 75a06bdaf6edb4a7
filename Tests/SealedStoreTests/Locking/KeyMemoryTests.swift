import CSessionToolsSodium
import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Tests that search for keys in the memory of a process that used a store.
@Suite(.onOwnThread) struct KeyMemoryTests {
  let scratch: Scratch

  init() throws {
    scratch = try Scratch()
  }

  private static let seed: UInt64 = 20_261_121

  /// The keys of a store that takes its randomness from the seed.
  ///
  /// It takes its identifier first, then the store key, then the data key.
  private static let keys: [String: [UInt8]] = {
    let storeKey = SeededRandom.bytes(32, seed: seed, number: 2)
    let dataKey = SeededRandom.bytes(32, seed: seed, number: 3)
    return [
      "store key": storeKey, "data key": dataKey, "header key": derived(1, from: storeKey),
      "tag key": derived(2, from: dataKey), "value key": derived(3, from: dataKey),
      "chain key": Array(derived(4, from: dataKey)[..<16]),
    ]
  }()

  @Test(.disabled(if: isSanitized, "a sanitizer's memory cannot be searched"))
  func `no key is in memory while a store is locked, or after it is replaced or released`() throws {
    let worker = try Worker("keys", scratch.path, scratch.writeKeyFile(), "\(Self.seed)")
    let raw = ["raw key": scratch.keyBytes.copyBytes()]
    let kept: [String: Set<String>] = [
      // The keys must be found here, which shows that the search works.
      "open": Set(Self.keys.keys), "locked": [], "unlocked": Set(Self.keys.keys),
      "locked again": [], "open again": Set(Self.keys.keys),
      // A rotation replaces the data key and all keys derived from it, a revocation the others.
      "rotated": ["store key", "header key"], "revoked": [], "released": [],
    ]
    for state in [
      "open", "locked", "unlocked", "locked again", "open again", "rotated", "revoked", "released",
    ] {
      #expect(worker.line() == state)
      let memory = ProcessMemory(of: worker.identifier)
      let found = try memory.places(of: Self.keys)
      #expect(Set(found.keys) == kept[state], "while \(state)")
      for place in found.values.joined() {
        #expect(place.isLeftOutOfDumps && place.isLocked, "while \(state)")
      }
      #expect(try memory.places(of: raw) == [:], "while \(state)")
      try worker.send()
    }
    #expect(worker.wait() == 0)
  }

  @Test(.disabled(if: isSanitized, "a sanitizer's memory cannot be searched"))
  func `neither a passphrase nor its key stays in memory after opening, locking or releasing`()
    throws
  {
    let passphrase = "pferd-batterie-klammer-7f3a91c2"
    let file = scratch["passphrase"]
    #expect(
      FileManager.default.createFile(
        atPath: file, contents: Data(passphrase.utf8), attributes: [.posixPermissions: 0o600]))
    let worker = try Worker("passphrase", scratch.path, file)
    for state in ["made", "in hand", "open", "locked", "unlocked", "released"] {
      #expect(worker.line() == state)
      let secrets = [
        "passphrase": Array(passphrase.utf8), "wrapping key": try wrappingKey(of: passphrase),
      ]
      let found = try ProcessMemory(of: worker.identifier).places(of: secrets)
      // While the process holds both, they are in memory, which shows that the search finds them.
      #expect(Set(found.keys) == (state == "in hand" ? Set(secrets.keys) : []), "while \(state)")
      try worker.send()
    }
    #expect(worker.wait() == 0)
  }

  @Test(.disabled(if: isSanitized, "a sanitizer's memory cannot be searched"))
  func `no key or passphrase is in memory while the gate of a store is locked`() throws {
    let passphrase = "pferd-batterie-klammer-19c4e8aa"
    let file = scratch["passphrase"]
    #expect(
      FileManager.default.createFile(
        atPath: file, contents: Data(passphrase.utf8), attributes: [.posixPermissions: 0o600]))
    let worker = try Worker("gate", scratch.path, scratch.writeKeyFile(), "\(Self.seed)", file)
    var secrets = Self.keys
    secrets["passphrase"] = Array(passphrase.utf8)
    let open = Set(Self.keys.keys)
    let kept: [(String, Set<String>)] = [
      ("before", open), ("locked", []), ("open", open), ("locked by the desktop", []),
      ("open again", open), ("asleep", []),
    ]
    for (state, expected) in kept {
      #expect(worker.line() == state)
      let found = try ProcessMemory(of: worker.identifier).places(of: secrets)
      #expect(Set(found.keys) == expected, "while \(state)")
      try worker.send()
    }
    #expect(worker.wait() == 0)
  }

  @Test(.disabled(if: isSanitized, "a sanitizer's memory cannot be searched"))
  func `neither a recipient's secret key nor what it opened stays in memory`() throws {
    let key = try RecipientKey.create(at: scratch["recovery.key"])
    let secretKey = Array(try Data(contentsOf: URL(filePath: key.path)))
    let worker = try Worker("recipient", scratch.path, key.path)
    var slotKey: [UInt8] = []
    for state in ["made", "in hand", "open", "revoked and locked", "released"] {
      #expect(worker.line() == state)
      if state == "made" { slotKey = try self.slotKey(openedWith: secretKey) }
      // X25519 computes with a copy of which the bits at both ends are changed.
      let secrets = ["secret key": Array(secretKey[1..<31]), "key of the slot": slotKey]
      let found = try ProcessMemory(of: worker.identifier).places(of: secrets)
      #expect(Set(found.keys) == (state == "in hand" ? Set(secrets.keys) : []), "while \(state)")
      try worker.send()
    }
    #expect(worker.wait() == 0)
  }

  private func slotKey(openedWith secretKey: [UInt8]) throws -> [UInt8] {
    let slot = try #require(try SealedFileStore.keySlots(at: scratch.path).first)
    guard case .namedKey(let text) = slot.parameters else { return [] }
    let bytes = try #require(KeyReference(text)?.bytes)
    let (publicKey, box) = (Array(bytes[1..<33]), Array(bytes[33..<113]))
    var key = [UInt8](repeating: 0, count: 32)
    #expect(unsafe crypto_box_seal_open(&key, box, 80, publicKey, secretKey) == 0)
    return key
  }

  private func wrappingKey(of passphrase: String) throws -> [UInt8] {
    let slot = try #require(try SealedFileStore.keySlots(at: scratch.path).first)
    guard case .passphrase(let parameters) = slot.parameters else { return [] }
    var key = [UInt8](repeating: 0, count: 32)
    let status = unsafe crypto_pwhash(
      &key, 32, passphrase, UInt64(passphrase.utf8.count), parameters.salt,
      UInt64(parameters.passes), parameters.memoryByteCount, crypto_pwhash_ALG_ARGON2ID13)
    #expect(status == 0)
    return key
  }

  /// The kernel's pattern for cores; a plain name means the working directory.
  private static let corePattern =
    (try? String(contentsOfFile: "/proc/sys/kernel/core_pattern", encoding: .utf8)) ?? "|"

  @Test(
    .disabled(if: isSanitized, "a sanitizer dumps no core"),
    .disabled(if: corePattern.contains { "|/".contains($0) }, "cores go elsewhere here"))
  func `a core dump of a process with an open store contains none of its keys`() throws {
    let place = scratch["cores"]
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
    let worker = try Worker("dump", scratch.path, scratch.writeKeyFile(), "\(Self.seed)", place)
    #expect(worker.line() == "open")
    #expect(worker.wait() == -SIGABRT)
    let names = try FileManager.default.contentsOfDirectory(atPath: place)
    try #require(names.count == 1)
    let core = Array(try Data(contentsOf: URL(filePath: "\(place)/\(names[0])")))
    // The core contains ordinary memory, so it would contain the keys.
    let ordinary = SeededRandom.bytes(32, seed: Self.seed, number: 1000)
    #expect(ProcessMemory.offsets(of: ordinary, in: core) != [])
    for (name, key) in Self.keys {
      #expect(ProcessMemory.offsets(of: key, in: core) == [], "\(name)")
    }
  }

  @Test(
    .disabled(if: isSanitized, "a sanitizer's memory cannot be searched"),
    arguments: [0, 1000, 100_000])
  func `bytes leave nothing in memory, and a session only the copies that cannot be wiped`(
    padding: Int
  ) throws {
    let worker = try Worker(
      "items", scratch.path, scratch.writeKeyFile(), "\(Self.seed)", "\(padding)")
    var wanted = ["bytes": UInt64(2000), "text": 2001].mapValues { number in
      Array(Self.hexadecimal(SeededRandom.bytes(24, seed: Self.seed, number: number)).utf8)
    }
    #expect(worker.line() == "in hand")
    let before = try ProcessMemory(of: worker.identifier).places(of: wanted)
    #expect(Set(before.keys) == ["bytes", "text"])
    try worker.send()
    #expect(worker.line() == "used")
    wanted["encoded"] = Array("\"text\":\"".utf8) + (wanted["text"] ?? [])
    let after = try ProcessMemory(of: worker.identifier).places(of: wanted).mapValues(\.count)
    #expect(after["bytes"] == nil)
    // What is never wiped: the text of the item that was stored, that of the item that was read,
    // and the encoder's buffer, unless its memory has been used again.
    #expect(after["encoded", default: 0] <= 1)
    #expect(after["text", default: 0] <= 2 + after["encoded", default: 0])
    try worker.send()
    #expect(worker.wait() == 0)
  }

  private static func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }

  private static func derived(_ identifier: UInt64, from key: [UInt8]) -> [UInt8] {
    var out = [UInt8](repeating: 0, count: 32)
    let context: [CChar] = Array("SSNTOOLS".utf8CString.prefix(8))
    _ = unsafe crypto_kdf_derive_from_key(&out, 32, identifier, context, key)
    return out
  }

  @Test(.disabled(if: isSanitized, "a sanitizer pretends to lock memory"))
  func `a store whose keys cannot be kept out of swap reports this and works`() throws {
    let place = scratch["other-user"]
    try FileManager.default.createDirectory(
      atPath: place, withIntermediateDirectories: false,
      attributes: [.posixPermissions: 0o700])
    if geteuid() == 0 {
      #expect(unsafe chown(place, 65534, 65534) == 0)
      #expect(unsafe chmod(scratch.place, 0o711) == 0)
    }
    let worker = try Worker("memory-limit", "\(place)/store", "\(place)/key")
    let notice = "notice \(StoreNotice.keyMemoryNotLocked)"
    #expect(worker.lines() == [notice, "locked: false", notice, "works"])
    #expect(worker.wait() == 0)
  }

  @Test func `a store whose keys are kept out of swap reports this`() throws {
    let notices = Notices()
    let store = try scratch.create(onNotice: notices)
    #expect(store.isKeyMemoryLocked)
    store.lock()
    try store.unlock(with: scratch.key)
    #expect(store.isKeyMemoryLocked)
    #expect(notices.all == [])
  }

  @Test func `every operation fails in a forked child, and works in the parent`() throws {
    _ = try scratch.create()
    let worker = try Worker("fork", scratch.path, scratch.writeKeyFile())
    let lines = worker.lines()
    #expect(worker.wait() == 0)
    let operations = [
      "value", "contains", "keys", "put", "remove", "exclusive", "compact", "rotate", "verify",
      "addSlot", "unlock",
    ]
    #expect(
      lines == operations.map { "\($0) unavailable" }
        + ["memory locked false", "locked true", "child ended with 0", "parent ok"])
    #expect(try scratch.open().contents().values.map { $0 } == [Array("parent".utf8)])
  }

  /// In a child no helper thread may read parts of a long journal or of a long list, because
  /// threads of a forked child cannot wait for each other.
  @Test func `a forked child can open a store for itself, even a large store`() throws {
    let value = SecretBytes([UInt8](repeating: 1, count: 9 << 20))
    let store = try scratch.create()
    for identifier in ["one", "two"] {
      try store.put(value, for: ItemName(identifier, in: "worker"))
    }
    try store.apply((0..<1100).map { .put(secret("v"), for: try name("item \($0)")) })
    let worker = try Worker("open-in-fork", scratch.path, scratch.writeKeyFile(), "one")
    let lines = worker.lines()
    #expect(worker.wait() == 0)
    #expect(
      lines == [
        "parent ok", "child lists 1102", "child ok", "child starts 0", "child ended with 0",
      ])
  }
}
