import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestSupport
import Testing

@Suite struct KeyFileTests {
  let scratch: Scratch
  let path: String

  init() throws {
    scratch = try Scratch()
    path = scratch["key file"]
  }

  private func make(_ byteCount: Int, mode: Int = 0o600, at path: String? = nil) {
    #expect(
      FileManager.default.createFile(
        atPath: path ?? self.path, contents: Data(repeating: 7, count: byteCount),
        attributes: [.posixPermissions: mode]))
  }

  private func makeStore(with path: String? = nil) throws {
    _ = try SealedFileStore.create(at: scratch.path, key: KeyFile(path ?? self.path))
  }

  @Test func `a key file is created for a new slot if requested, but never for opening`() throws {
    let key = KeyFile(path, makeIfAbsent: true)
    #expect(
      try code { _ = try SealedFileStore.create(at: scratch.path, key: KeyFile(path)) }
        == StoreError.keyMissing)
    let store = try SealedFileStore.create(at: scratch.path, key: key)
    let content = try Data(contentsOf: URL(filePath: path))
    _ = try SealedFileStore.open(at: scratch.path, key: key)
    _ = try store.addSlot(key)
    #expect(try Data(contentsOf: URL(filePath: path)) == content, "an existing file stays")
    try FileManager.default.removeItem(atPath: path)
    #expect(
      try code { _ = try SealedFileStore.open(at: scratch.path, key: key) }
        == StoreError.keyMissing)
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test func `a new key file has 32 random bytes, mode 0600, and opens a store`() throws {
    let first = try KeyFile.create(at: path)
    let second = try KeyFile.create(at: scratch["second"])
    let contents = try [first, second].map { try Data(contentsOf: URL(filePath: $0.path)) }
    #expect(contents[0].count == 32)
    #expect(contents[0] != contents[1])
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
    #expect(mode as? Int == 0o600)
    try SealedFileStore.create(at: scratch.path, key: first).put("value", as: "item")
    #expect(try SealedFileStore.open(at: scratch.path, key: KeyFile(path)).text("item") == "value")
    #expect(
      try code { _ = try SealedFileStore.open(at: scratch.path, key: second) }
        == StoreError.wrongKey)
  }

  @Test func `a key file is not created over a file or without its directory`() throws {
    make(5)
    let refusal = try error { _ = try KeyFile.create(at: path) }
    #expect(refusal.code == .alreadyExists)
    #expect(refusal.reason == "there is a file of that name")
    #expect(try Data(contentsOf: URL(filePath: path)).count == 5)
    #expect(try code { _ = try KeyFile.create(at: scratch["no/key"]) } != nil)
    let disk = FaultyFileSystem { $0.kind == .open ? .fail(EIO) : nil }
    let failure = try code {
      try SecretFile.create(scratch["key"], content: RawKey.random(), fileSystem: disk)
    }
    #expect(failure == StoreError.io)
  }

  @Test func `if a key file cannot be created, the error is not that it is missing`() throws {
    // Not even root can create files there.
    let key = KeyFile("/sys/key", makeIfAbsent: true)
    #expect(try code { _ = try key.makeSlot() } == StoreError.accessDenied)
  }

  @Test func `a key file can be created in a directory that is reached through a link`() throws {
    try FileManager.default.createDirectory(
      atPath: scratch["real"], withIntermediateDirectories: false)
    try FileManager.default.createSymbolicLink(
      atPath: scratch["link"], withDestinationPath: scratch["real"])
    _ = try KeyFile.create(at: scratch["link/key"])
    try makeStore(with: scratch["real/key"])
  }

  /// A store whose header has its name may exist after a restart, and would need its key.
  @Test(arguments: [
    ("nothing", "ok", true), ("rename", "io", false), ("synchronize", "outcomeUnknown", true),
  ])
  func `a standard key file stays only if there may be a store that it opens`(
    failing: String, outcome: String, stays: Bool
  ) throws {
    let worker = try Worker(
      "standard-key", scratch.path, failing, under: ["XDG_DATA_HOME=\(scratch["data"])"])
    #expect(worker.lines() == [outcome])
    let place = scratch["data/session-tools/keys"]
    let names = try FileManager.default.contentsOfDirectory(atPath: place)
    #expect(names.count == (stays ? 1 : 0))
    for name in names {
      _ = try SealedFileStore.open(at: scratch.path, key: KeyFile("\(place)/\(name)"))
    }
  }

  @Test func `a file that is longer than a secret can be is refused`() throws {
    make(33)
    let secret = try SecretFile.read(path, maximumByteCount: 33, rule: .privateFile)
    #expect(secret.byteCount == 33)
    let refusal = try error {
      _ = try SecretFile.read(path, maximumByteCount: 32, rule: .privateFile)
    }
    #expect(refusal.code == .invalidKey)
    #expect(refusal.reason == "the file has more than 32 bytes, too many for a key")
  }

  @Test func `a missing key file is a missing key`() throws {
    let error = try error { try makeStore() }
    #expect(error.code == .keyMissing)
    #expect(error.store == path)
  }

  @Test(arguments: [0, 1, 31, 33, 64, 100_000])
  func `a file that does not have exactly 32 bytes is not a key`(byteCount: Int) throws {
    make(byteCount)
    let error = try error { try makeStore() }
    #expect(error.code == .invalidKey)
    #expect(error.store == path)
  }

  @Test(arguments: [0o644, 0o640, 0o604, 0o660, 0o602, 0o601, 0o777])
  func `a key file that others may use is refused with the command that fixes it`(mode: Int) throws
  {
    make(32, mode: mode)
    let error = try error { try makeStore() }
    #expect(error.code == .unsafePermissions)
    #expect(error.store == path)
    try runRemedy(of: error)
    try makeStore()
  }

  @Test func `a key file that is a link is refused with the command that fixes it`() throws {
    let target = scratch["target"]
    make(32, at: target)
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
    let error = try error { try makeStore() }
    #expect(error.code == .unsafePermissions)
    #expect(error.store == path)
    try runRemedy(of: error)
    try makeStore()
  }

  @Test(.enabled(if: geteuid() == 0, "only root can change the owner of a file"))
  func `a key file of another user is refused with the command that fixes it`() throws {
    make(32)
    #expect(unsafe chown(path, 12345, 12345) == 0)
    let error = try error { try makeStore() }
    #expect(error.code == .unsafePermissions)
    try runRemedy(of: error)
    try makeStore()
  }

  @Test func `a key file that is a FIFO or a directory is refused and does not hang`() throws {
    #expect(unsafe mkfifo(path, 0o600) == 0)
    #expect(try code { try makeStore() } == StoreError.unsafePermissions)
    let directory = scratch["directory"]
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: false,
      attributes: [.posixPermissions: 0o700])
    #expect(try code { try makeStore(with: directory) } == StoreError.unsafePermissions)
  }

  @Test func `a key file that cannot be written leaves nothing behind`() throws {
    // The fault stands for a full file system, because /dev/full is not a directory.
    let disk = FaultyFileSystem { $0.kind == .write ? .fail(ENOSPC) : nil }
    let content = RawKey.random()
    #expect(
      try code { try SecretFile.create(path, content: content, fileSystem: disk) }
        == StoreError.noSpace)
    #expect(!FileManager.default.fileExists(atPath: path))
    try SecretFile.create(path, content: content)
    try makeStore()
  }

  @Test func `a key file is whole as soon as another program sees it`() throws {
    let disk = FaultyFileSystem { call in
      if call.kind == .write || call.kind == .synchronize { usleep(20_000) }
      return nil
    }
    let content = RawKey.random()
    try inThreads(2) { number in
      if number == 0 { return try SecretFile.create(path, content: content, fileSystem: disk) }
      try blockingWait(until: "it is there") { FileManager.default.fileExists(atPath: path) }
      #expect(try Data(contentsOf: URL(filePath: path)).count == 32)
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.place) == ["key file"])
  }

  @Test func `a key file that others may have seen stays when its name is not durable`() throws {
    let disk = FaultyFileSystem()
    let content = RawKey.random()
    var number = 0
    repeat {
      number += 1
      disk.setRule { [number] in $0.number == number ? .fail(EIO) : nil }
      let path = scratch["key \(number)"]
      let code = try code { try SecretFile.create(path, content: content, fileSystem: disk) }
      let isThere = FileManager.default.fileExists(atPath: path)
      let isLinked = disk.calls.contains { $0.kind == .link && $0.number < number }
      #expect(isThere == isLinked, "call \(number)")
      if code == nil { break }
      if isThere { #expect(try Data(contentsOf: URL(filePath: path)).count == 32) }
    } while number < 100
    #expect((5..<100).contains(number))
  }

  @Test func `an existing key file is found where none could be made`() throws {
    make(32)
    let disk = FaultyFileSystem { call in
      call.access == .create || call.kind == .synchronize ? .fail(EROFS) : nil
    }
    #expect(
      try code { try SecretFile.create(path, content: RawKey.random(), fileSystem: disk) }
        == StoreError.alreadyExists)
  }

  @Test func `a key file is made on a file system without hard links`() throws {
    for missing in [EPERM, EOPNOTSUPP, ENOSYS] {
      let disk = FaultyFileSystem { $0.kind == .link ? .fail(missing) : nil }
      let path = scratch["key \(missing)"]
      try SecretFile.create(path, content: RawKey.random(), fileSystem: disk)
      #expect(try Data(contentsOf: URL(filePath: path)).count == 32)
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.place).count == 3)
  }

  @Test func `a systemd credential opens a store, but only from its directory`() throws {
    make(32, mode: 0o440, at: scratch["cred"])
    let credential = SystemdCredential("cred", directory: scratch.place)
    try SealedFileStore.create(at: scratch.path, key: credential).put("value", as: "item")
    let opened = try SealedFileStore.open(at: scratch.path, key: credential)
    #expect(try opened.text("item") == "value")
    #expect(try opened.keySlots().map(\.parameters) == [.rawKey(label: "systemd credential cred")])

    for (name, directory, expected) in [
      ("absent", scratch.place, StoreError.keyMissing),
      ("cred", nil, StoreError.keyMissing), ("cred", "", StoreError.keyMissing),
      ("../cred", scratch["store"], StoreError.invalidName),
      ("", scratch.place, StoreError.invalidName),
      (".", scratch.place, StoreError.invalidName),
      ("..", scratch.place, StoreError.invalidName),
    ] {
      let credential = SystemdCredential(name, directory: directory)
      let code = try code { _ = try SealedFileStore.open(at: scratch.path, key: credential) }
      #expect(code == expected, "\(name) in \(directory ?? "nothing")")
    }
  }

  @Test(arguments: [nil, ""])
  func `the error outside of a service says that there are no credentials`(
    directory: String?
  ) throws {
    let credential = SystemdCredential("cred", directory: directory)
    let refusal = try error { _ = try credential.makeSlot() }
    #expect(refusal.code == .keyMissing)
    #expect(refusal.reason == "CREDENTIALS_DIRECTORY is not set")
  }

  @Test func `a credential that all users can read, or of a wrong size, is refused`() throws {
    make(32, mode: 0o444, at: scratch["open"])
    make(31, mode: 0o400, at: scratch["short"])
    for (name, expected) in [
      ("open", StoreError.unsafePermissions), ("short", StoreError.invalidKey),
    ] {
      let credential = SystemdCredential(name, directory: scratch.place)
      let code = try code { _ = try SealedFileStore.create(at: scratch.path, key: credential) }
      #expect(code == expected)
    }
  }

  @Test(arguments: [0, 16, 31, 33])
  func `a raw key that does not have 32 bytes is refused`(byteCount: Int) throws {
    let bytes = SecretBytes([UInt8](repeating: 1, count: byteCount))
    #expect(try code { _ = try RawKey(bytes) } == StoreError.invalidKey)
    #expect(try code { _ = try WrappingKey(bytes) } == StoreError.invalidKey)
  }
}
