import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport

/// A store whose life is recorded, with the same keys, nonces and identifiers every time.
final class CrashWorld {
  static let keyNames = ["first", "second", "third"]

  let path: String
  let recorder: RecordingFileSystem
  /// The file system that fails on demand, on top of the recorder so that failed calls are not
  /// recorded.
  let faults: FaultyFileSystem
  let keys: [String: RawKey]
  /// Other processes that read the store.
  let readers: CrashReaders
  private let fileSystem: any FileSystem
  private let random: SeededRandom
  private(set) var current: SealedFileStore?
  /// Whether an operation made calls fail.
  private(set) var hasFailed = false
  /// Whether the last operation reported that it was done, or that it changed nothing.
  private(set) var hasAnswered = true
  /// Whether no call fails even if an operation wants it to, to learn its result without failures.
  var isUndisturbed = false

  /// Makes a world whose directory is absent or contains a store.
  ///
  /// - Parameters:
  ///   - path: The store's directory.
  ///   - fileSystem: The file system of the directory; the kernel's by default.
  ///   - content: The files in the directory.
  ///   - seed: The seed of the randomness, which must be different for each world that continues
  ///     with the same store so that no key and no nonce is repeated.
  /// - Throws: An error if a key cannot be made.
  init(
    _ path: String, in fileSystem: any FileSystem = LinuxFileSystem(),
    content: RecordedDisk.Content = [:], seed: UInt64
  ) throws {
    self.path = path
    self.fileSystem = fileSystem
    random = SeededRandom(seed: seed)
    recorder = RecordingFileSystem(path, in: fileSystem, content: content)
    faults = FaultyFileSystem(in: recorder)
    let keys = try Self.keys()
    self.keys = keys
    readers = CrashReaders(
      recorder, keys: Self.keyNames.compactMap { keys[$0] }, random: SeededRandom(seed: seed + 100))
  }

  /// Makes keys with labels so long that a header takes several sectors.
  static func keys() throws -> [String: RawKey] {
    var keys: [String: RawKey] = [:]
    for (position, name) in keyNames.enumerated() {
      let bytes = SeededRandom.bytes(32, seed: 11, number: UInt64(position + 1))
      let label = String(repeating: "\(name) ", count: 90)
      keys[name] = try RawKey(SecretBytes(bytes), label: label)
    }
    return keys
  }

  func key(_ name: String) -> RawKey {
    guard let key = keys[name] else { preconditionFailure("there is no key \(name)") }
    return key
  }

  /// An environment whose clock stands still, so that a life always has the same bytes.
  private var environment: StoreEnvironment {
    StoreEnvironment(
      fileSystem: faults, random: random, clock: { Date(timeIntervalSince1970: 1_800_000_000) },
      repairLease: .zero)
  }

  /// Returns the files as programs see them, the journal with its reserve.
  func content() throws -> RecordedDisk.Content {
    guard try fileSystem.status(of: path, in: .workingDirectory) != nil else { return [:] }
    guard let memory = fileSystem as? MemoryFileSystem else {
      return try RecordedDisk.read(path, withReserve: true)
    }
    return try memory.content(of: path)
  }

  /// Performs an operation of a scenario, and lets readers read the result.
  func perform(
    _ operation: CrashScenario.Operation, number: Int, watched: Bool
  ) throws {
    hasAnswered = true
    recorder.begin(number)
    let readers = readers
    if watched { recorder.setOnStep { readers.inspect() } }
    try operation(self)
    recorder.setOnStep(nil)
    if hasAnswered { recorder.confirm(number) }
    if watched { readers.inspect() }
  }

  func create() throws {
    current = try SealedFileStore.create(
      at: path, key: key("first"), options: .init(), environment: environment)
  }

  /// Opens the store as a new process would.
  func reopen(_ name: String = "first") throws {
    current = nil
    current = try SealedFileStore.open(
      at: path, key: key(name), options: .init(), environment: environment)
  }

  /// Returns the store, and opens it if necessary.
  func store() throws -> SealedFileStore {
    if let current { return current }
    let name = Self.keyNames.first { name in (try? code { try reopen(name) }) == .some(nil) }
    guard name != nil, let current else { preconditionFailure("no key opens the store") }
    return current
  }

  /// Closes the store, as the end of a process does.
  func close() { current = nil }

  /// Lets the process die: beginning with the call that the rule chooses, nothing is done.
  func dying(
    at isLast: @escaping FaultyFileSystem.Rule, _ body: (SealedFileStore) throws -> Void
  ) throws {
    let store = try store()
    try die(at: isLast) { try body(store) }
  }

  /// Lets a process die while it opens the store.
  func dyingToOpen(at isLast: @escaping FaultyFileSystem.Rule) throws {
    current = nil
    try die(at: isLast) { try reopen() }
  }

  private func die(
    at isLast: @escaping FaultyFileSystem.Rule, _ body: () throws -> Void
  ) throws {
    if isUndisturbed { return try body() }
    let isDead = Locked(false)
    faults.setRule { call in
      isDead.withLock { isDead in
        if isDead { return .fail(EIO) }
        let fault = isLast(call)
        isDead = fault != nil
        return fault
      }
    }
    hasFailed = true
    // The result of a dead process does not matter.
    _ = try code(body)
    faults.setRule(nil)
    current = nil
    hasAnswered = false
  }

  /// Lets the next sync of a file fail.
  func failingSync(
    of name: String, with expected: StoreError.Code, _ body: (SealedFileStore) throws -> Void
  ) throws {
    let store = try store()
    if isUndisturbed { return try body(store) }
    recorder.failNextSynchronization(of: name)
    try expect(expected) { try body(store) }
  }

  /// Lets one sync of a file fail while the store is opened, if a sync is made.
  func failingToOpen(of name: String, with expected: StoreError.Code) throws {
    current = nil
    if isUndisturbed { return try reopen() }
    recorder.failNextSynchronization(of: name)
    let outcome = try code { try reopen() }
    recorder.failNextSynchronization(of: nil)
    precondition(outcome == nil || outcome == expected, "\(outcome as Any)")
    hasFailed = true
    hasAnswered = false
  }

  /// Lets the n-th sync of the directory fail.
  func failingDirectorySync(
    number: Int, with expected: StoreError.Code = StoreError.outcomeUnknown,
    _ body: (SealedFileStore) throws -> Void
  ) throws {
    let rule = CrashScenario.call(.synchronize, of: path, number: number)
    try failing(with: expected, rule, body)
  }

  /// Lets the n-th write of the mark fail.
  func failingMarkWrite(
    number: Int = 1, with expected: StoreError.Code?, _ body: (SealedFileStore) throws -> Void
  ) throws {
    let rule = CrashScenario.call(.write, of: "mark", number: number)
    try failing(with: expected, rule, body)
  }

  /// Lets the write of the second replacement file fail, which is for the header's copy.
  func failingCopy(_ body: (SealedFileStore) throws -> Void) throws {
    let rule = CrashScenario.call(.write, of: "replacement", number: 2)
    try failing(with: nil, rule, body)
  }

  /// Lets the calls that a rule chooses fail during an operation.
  private func failing(
    with expected: StoreError.Code?, _ rule: @escaping FaultyFileSystem.Rule,
    _ body: (SealedFileStore) throws -> Void
  ) throws {
    let store = try store()
    if isUndisturbed { return try body(store) }
    faults.setRule(rule)
    try expect(expected) { try body(store) }
    faults.setRule(nil)
  }

  /// Lets the first write write some bytes, and all others fail because the disk is full.
  ///
  /// - Parameters:
  ///   - byteCount: The number of bytes that are written.
  ///   - expected: The expected error of the store.
  ///   - kind: A kind of call that also fails.
  ///   - body: The operation.
  /// - Throws: Any other error of the operation.
  func onFullDisk(
    after byteCount: Int, with expected: StoreError.Code = StoreError.noSpace,
    failing kind: FaultyFileSystem.Call.Kind? = nil, _ body: (SealedFileStore) throws -> Void
  ) throws {
    let isFull = Locked(false)
    let rule: FaultyFileSystem.Rule = { call in
      if call.kind == kind { return .fail(EIO) }
      guard call.kind == .write else { return nil }
      return isFull.withLock { isFull in
        defer { isFull = true }
        return isFull ? .fail(ENOSPC) : .short(byteCount)
      }
    }
    try failing(with: expected, rule, body)
  }

  /// Reads everything, as a process that opens the store on a full disk.
  func readOnFullDisk() throws {
    if isUndisturbed { return }
    current = nil
    hasFailed = true
    // Only its reads matter for other processes.
    hasAnswered = false
    faults.setRule { $0.kind == .write ? .fail(ENOSPC) : nil }
    readers.note(try store().texts())
    faults.setRule(nil)
    current = nil
  }

  private func expect(_ expected: StoreError.Code?, _ body: () throws -> Void) throws {
    hasFailed = true
    let outcome = try code(body)
    precondition(outcome == expected, "\(outcome as Any) instead of \(expected as Any)")
    if expected == StoreError.outcomeUnknown { hasAnswered = false }
  }

  /// Runs a closure on one of the store's files, bypassing the store, as a program without keys.
  private func changing(
    _ name: String, _ body: (Descriptor, Descriptor) throws -> Void
  ) throws {
    let directory = try recorder.openDirectory(path)
    defer { recorder.close(directory) }
    let file = try recorder.open(name, in: directory, .readWrite)
    defer { recorder.close(file) }
    try body(directory, file)
  }

  /// Changes one bit of a file.
  func flip(_ name: String, at offset: Int) throws {
    try changing(name) { _, file in
      let buffer = ByteBuffer(byteCount: 1)
      _ = try recorder.read(file, at: offset, into: buffer, 0..<1)
      buffer.store(buffer.load(UInt8.self, at: 0) ^ 1, at: 0)
      _ = try recorder.write(buffer, 0..<1, to: file, at: offset)
    }
  }

  /// Removes a file.
  func remove(_ name: String) throws {
    try changing(name) { directory, _ in try recorder.remove(name, in: directory) }
  }
}

extension CrashWorld {
  /// Lets the journal end so that a whole sector follows the next record of a short value.
  func alignJournal(before text: String) throws {
    let short = try journalByteCount()
    try store().put(text, as: "item 0")
    let recordByteCount = try journalByteCount() - short
    let start = short + recordByteCount
    // Eight records whose values are padded to 64 to 128 bytes, in steps of 8, can fill any gap up
    // to a multiple of 512.
    var missing = (8 * 512 - 8 * 232 - recordByteCount - start % 512) % 512
    for _ in 0..<8 {
      let more = min(64, missing)
      missing -= more
      try store().put(String(repeating: "x", count: 60 + more), as: "filler")
    }
    let end = try journalByteCount() + recordByteCount
    precondition(end % 512 == 0, "the journal does not end at a sector")
  }

  private func journalByteCount() throws -> Int {
    let content = try content()
    return RecordedDisk.withoutReserve(content["journal"] ?? [], mark: content["mark"] ?? []).count
  }
}
