import SealedStore
import SessionToolsBase
import StoreTestSupport

/// A store all of whose keys are known, so that any content can be sealed for it.
enum KnownStore {
  static let path = "/fuzzed"
  static let wrappingKey = [UInt8](repeating: 7, count: 32)
  static let storeKey = [UInt8](repeating: 1, count: 32)
  static let dataKey = [UInt8](repeating: 2, count: 32)
  static let headerKey = Primitives.derive(1, from: storeKey)
  static let nameKey = Primitives.derive(2, from: dataKey)
  static let recordKey = Primitives.derive(3, from: dataKey)
  static let chainKey = Array(Primitives.derive(4, from: dataKey)[..<16])
  static let identifier = [UInt8](repeating: 3, count: 16)
  static let journalIdentifier = [UInt8](repeating: 4, count: 16)
  static let nonce = [UInt8](repeating: 5, count: 24)

  private static let binding = Array("SSNTOOLS".utf8) + [1, 0] + identifier

  /// A slot that opens when it is of kind 1.
  static func slot(kind: UInt16, parameters: [UInt8]) -> [UInt8] {
    let leading = kind.littleEndianBytes + UInt16(parameters.count).littleEndianBytes + parameters
    return leading
      + Primitives.seal(storeKey, key: wrappingKey, nonce: nonce, binding: binding + leading)
  }

  /// A header without checksum and MAC.
  static func header(slots: [[UInt8]]) -> [UInt8] {
    Array("SSNTOOLS".utf8) + [1, 0] + UInt16(slots.count).littleEndianBytes + [0, 0, 0, 0]
      + identifier + slots.flatMap(\.self)
      + Primitives.seal(
        dataKey, key: storeKey, nonce: nonce, binding: binding + Array("data".utf8))
  }

  /// Bytes with the checksum and the MAC of a header behind them.
  static func finished(_ header: [UInt8]) -> [UInt8] {
    let checked = header + Primitives.hash(16, header)
    return checked + Primitives.hash(32, key: headerKey, checked)
  }

  static let soundHeader = finished(header(slots: [slot(kind: 1, parameters: [])]))

  /// The 64 bytes before the first record.
  static func journalHead(_ journal: [UInt8] = journalIdentifier) -> [UInt8] {
    let bound = Array("SSNTJRN1".utf8) + [1, 0] + [0, 0, 0, 0, 0, 0] + identifier + journal
    return bound + Primitives.sip(key: chainKey, bound)
  }

  /// A mark that the chain key made.
  static func mark(
    _ journal: [UInt8], byteCount: Int, number: UInt64, chain: [UInt8]
  ) -> [UInt8] {
    let bound = journal + UInt64(byteCount).littleEndianBytes + number.littleEndianBytes + chain
    return bound + Primitives.sip(key: chainKey, bound)
  }

  /// The identifier of the journal that takes the place of the one with a mark.
  static func successor(of mark: [UInt8]) -> [UInt8] {
    Primitives.sip(key: chainKey, Array("SSNTNEXT".utf8) + mark[..<48])
  }

  /// The item tag of a canonical key.
  static func tag(of canonicalKey: [UInt8]) -> [UInt8] {
    Primitives.hash(16, key: nameKey, canonicalKey)
  }

  /// The store's files in good order, with another journal and mark.
  static func files(journal: [UInt8], mark: [UInt8]?) -> [String: [UInt8]] {
    var files = [
      "header": soundHeader, "header.copy": soundHeader, "journal": journal, "lock": [],
    ]
    files["mark"] = mark
    return files
  }

  static func key() throws(StoreError) -> RawKey { try RawKey(SecretBytes(wrappingKey)) }

  /// A disk on which the store has these files.
  static func disk(_ files: MemoryFileSystem.Content) throws(SystemCallError) -> MemoryFileSystem {
    try MemoryFileSystem(path, files)
  }

  /// The store's files on a disk.
  static func files(
    of disk: MemoryFileSystem
  ) throws(SystemCallError) -> MemoryFileSystem.Content {
    try disk.content(of: path)
  }

  static func open(_ disk: MemoryFileSystem) throws(StoreError) -> SealedFileStore {
    try SealedFileStore.open(
      at: path, key: key(),
      environment: StoreEnvironment(fileSystem: disk, random: SeededRandom(seed: 1)))
  }
}

/// The code of the error that a closure throws; `nil` when it returns.
func code(_ body: () throws(StoreError) -> Void) -> StoreError.Code? {
  do throws(StoreError) {
    try body()
    return nil
  } catch {
    return error.code
  }
}
