import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestSupport
import Testing

/// A directory for one test, with room for a store, and the raw key that opens the store.
struct Scratch: Sendable {
  private let directory: TemporaryDirectory
  let key: RawKey
  let keyBytes: SecretBytes

  init() throws {
    try self.init(in: TemporaryDirectory())
  }

  init(in directory: TemporaryDirectory) throws {
    self.directory = directory
    keyBytes = RawKey.random()
    key = try RawKey(keyBytes)
  }

  /// The directory itself.
  var place: String { directory.path }

  /// Returns a path in the directory, next to the store.
  subscript(name: String) -> String { directory[name] }

  /// The path of the store.
  var path: String { directory["store"] }

  func create(
    _ environment: StoreEnvironment = StoreEnvironment(), onNotice: Notices? = nil
  ) throws(StoreError) -> SealedFileStore {
    try SealedFileStore.create(
      at: path, key: key, options: options(onNotice), environment: environment)
  }

  func open(
    _ environment: StoreEnvironment = StoreEnvironment(), onNotice: Notices? = nil
  ) throws(StoreError) -> SealedFileStore {
    try SealedFileStore.open(
      at: path, key: key, options: options(onNotice), environment: environment)
  }

  private func options(_ notices: Notices?) -> SealedFileStore.Options {
    var options = SealedFileStore.Options(lockTimeout: .seconds(30))
    if let notices { options.onNotice = { notices.add($0) } }
    return options
  }

  /// Returns the path of one of the store's files.
  func file(_ name: String) -> String { "\(path)/\(name)" }

  /// Reads a file; the journal without its reserve.
  func bytes(of name: String) throws -> [UInt8] {
    let bytes = Array(try Data(contentsOf: URL(filePath: file(name))))
    guard name == "journal", let mark = FileManager.default.contents(atPath: file("mark")) else {
      return bytes
    }
    return RecordedDisk.withoutReserve(bytes, mark: Array(mark))
  }

  /// Overwrites a file in place, as a tamperer would.
  func overwrite(_ name: String, with bytes: [UInt8]) throws {
    let handle = try FileHandle(forWritingTo: URL(filePath: file(name)))
    defer { try? handle.close() }
    // Truncating moves the offset.
    try handle.truncate(atOffset: UInt64(bytes.count))
    try handle.seek(toOffset: 0)
    try handle.write(contentsOf: Data(bytes))
  }

  func flip(_ name: String, at offset: Int, bit: UInt8 = 1) throws {
    try Self.flip(file(name), at: offset, bit: bit)
  }

  static func flip(_ path: String, at offset: Int, bit: UInt8 = 1) throws {
    let handle = try FileHandle(forUpdating: URL(filePath: path))
    defer { try? handle.close() }
    try handle.seek(toOffset: UInt64(offset))
    let byte = try #require(try handle.read(upToCount: 1)?.first)
    try handle.seek(toOffset: UInt64(offset))
    try handle.write(contentsOf: Data([byte ^ bit]))
  }

  /// Makes changes and restores the old mark, as after a power cut.
  func makeUnmarked(_ body: (SealedFileStore) throws -> Void) throws {
    let mark = try bytes(of: "mark")
    try body(open())
    try overwrite("mark", with: mark)
  }

  /// Returns the names of the files in the store's directory.
  func names() throws -> Set<String> {
    Set(try FileManager.default.contentsOfDirectory(atPath: path))
  }

  /// Writes the raw key to a key file for other programs.
  func writeKeyFile(_ name: String = "key") throws -> String {
    let path = directory[name]
    #expect(
      FileManager.default.createFile(
        atPath: path, contents: Data(keyBytes.copyBytes()), attributes: [.posixPermissions: 0o600]))
    return path
  }
}

/// A collection of the notices of a store.
final class Notices: Sendable {
  private let list = Locked<[StoreNotice]>([])

  func add(_ notice: StoreNotice) { list.withLock { $0.append(notice) } }

  var all: [StoreNotice] { list.withLock { $0 } }
}

/// The files of an undamaged store.
let storeFiles: Set = ["header", "header.copy", "journal", "mark", "lock"]

/// Returns a key in the namespace that most tests use.
func name(_ identifier: String) throws(StoreError) -> ItemName {
  try ItemName(identifier, in: "com.example.test")
}

func secret(_ text: String) -> SecretBytes { SecretBytes(utf8: text) }

extension SecretStore {
  /// Returns a value as text.
  func text(_ identifier: String) throws(StoreError) -> String? {
    try value(for: name(identifier)).map { String(decoding: $0.copyBytes(), as: UTF8.self) }
  }

  /// Stores a text.
  func put(_ text: String, as identifier: String) throws(StoreError) {
    try put(secret(text), for: name(identifier))
  }

  /// Returns all items of the store.
  func contents() throws(StoreError) -> [ItemName: [UInt8]] {
    var contents: [ItemName: [UInt8]] = [:]
    for name in try names(in: nil) {
      contents[name] = try value(for: name)?.copyBytes()
    }
    return contents
  }

  /// Returns all items as texts by their identifiers.
  func texts() throws(StoreError) -> [String: String] {
    var items: [String: String] = [:]
    for (name, value) in try contents() {
      items[name.identifier] = String(decoding: value, as: UTF8.self)
    }
    return items
  }
}

/// Returns the code of the error that a closure throws, or `nil` if it returns.
func code(_ body: () throws -> Void) throws -> StoreError.Code? {
  do {
    try body()
    return nil
  } catch let error as StoreError {
    return error.code
  }
}

/// Returns the error that a closure throws.
func error(
  _ body: () throws -> Void, sourceLocation: SourceLocation = #_sourceLocation
) throws -> StoreError {
  let error = #expect(throws: StoreError.self, sourceLocation: sourceLocation) { try body() }
  return try #require(error, sourceLocation: sourceLocation)
}
