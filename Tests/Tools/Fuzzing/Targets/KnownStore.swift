import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport

/// A store with known keys, for which any content can be sealed.
enum KnownStore {
  static let path = "/fuzzed"
  static let wrappingKey = [UInt8](repeating: 7, count: 32)
  static let storeKey = [UInt8](repeating: 1, count: 32)
  static let dataKey = [UInt8](repeating: 2, count: 32)
  static let headerKey = Primitives.derive(1, from: storeKey)
  static let tagKey = Array(Primitives.derive(2, from: dataKey)[..<16])
  static let valueKey = Primitives.derive(3, from: dataKey)
  static let chainKey = Array(Primitives.derive(4, from: dataKey)[..<16])
  static let nameKey = Primitives.derive(5, from: dataKey)
  static let maskKey = Array(Primitives.derive(6, from: dataKey)[..<16])
  static let identifier = [UInt8](repeating: 3, count: 16)
  static let journalIdentifier = [UInt8](repeating: 4, count: 16)
  static let nonce = [UInt8](repeating: 5, count: 24)

  private static let binding = Array("SSNTOOLS".utf8) + [1, 0] + identifier

  /// Returns a slot that opens if its kind is 1.
  static func slot(kind: UInt16, parameters: [UInt8]) -> [UInt8] {
    let head = kind.littleEndianBytes + UInt16(parameters.count).littleEndianBytes + parameters
    let leading = head + commitment(of: head, store: identifier)
    return leading
      + Primitives.seal(storeKey, key: wrappingKey, nonce: nonce, binding: binding + leading)
  }

  /// Returns the commitment of a slot with this kind and these parameters to the wrapping key.
  static func commitment(of head: [UInt8], store: [UInt8]) -> [UInt8] {
    Primitives.hash(16, key: wrappingKey, Array("SSNTOOLS slot".utf8) + store + head)
  }

  /// Returns a header without checksum and MAC.
  static func header(slots: [[UInt8]]) -> [UInt8] {
    Array("SSNTOOLS".utf8) + [1, 0] + UInt16(slots.count).littleEndianBytes + [0, 0, 0, 0]
      + identifier + slots.flatMap(\.self)
      + Primitives.seal(
        dataKey, key: storeKey, nonce: nonce, binding: binding + Array("data".utf8))
  }

  /// Returns a header with its checksum and its MAC at the end.
  static func finished(_ header: [UInt8]) -> [UInt8] {
    let checked = header + Primitives.hash(16, header)
    return checked + Primitives.hash(32, key: headerKey, checked)
  }

  static let soundHeader = finished(header(slots: [slot(kind: 1, parameters: [])]))

  static let headByteCount = 88

  /// Returns the bytes before the first record.
  static func journalHead(version: UInt64 = 0, predecessor: [UInt8]? = nil) -> [UInt8] {
    let bound =
      Array("SSNTJRN1".utf8) + [1, 0] + [0, 0, 0, 0, 0, 0] + identifier + journalIdentifier
      + version.littleEndianBytes + (predecessor.map(digest) ?? [UInt8](repeating: 0, count: 16))
    return bound + Primitives.sip(key: chainKey, bound)
  }

  /// Returns a mark that is authenticated with the chain key.
  static func mark(
    _ journal: [UInt8], byteCount: Int, version: UInt64, chain: [UInt8]
  ) -> [UInt8] {
    let bound = journal + UInt64(byteCount).littleEndianBytes + version.littleEndianBytes + chain
    return bound + Primitives.sip(key: chainKey, bound)
  }

  /// Returns the digest of its predecessor's mark that a journal contains.
  static func digest(of mark: [UInt8]) -> [UInt8] { Primitives.hash(16, mark) }

  /// Returns the item tag of a canonical name.
  static func tag(of canonicalName: [UInt8]) -> [UInt8] {
    Array(Primitives.sip(key: tagKey, canonicalName)[..<15])
  }

  /// Masks or unmasks kind and item tag, which is the same operation.
  static func masked(_ kindAndTag: [UInt8], nonce: [UInt8]) -> [UInt8] {
    zip(kindAndTag, Primitives.sip(key: maskKey, nonce)).map { $0 ^ $1 }
  }

  /// The mark of a journal without records.
  static let firstMark = mark(
    journalIdentifier, byteCount: headByteCount, version: 0,
    chain: Array(journalHead().suffix(16)))

  /// Returns the files of an undamaged store with the given journal and mark.
  static func files(journal: [UInt8], mark: [UInt8]?) -> [String: [UInt8]] {
    var files = [
      "header": soundHeader, "header.copy": soundHeader, "journal": journal, "lock": [],
    ]
    files["mark"] = mark
    return files
  }

  static func key() throws(StoreError) -> RawKey { try RawKey(SecretBytes(wrappingKey)) }

  /// Makes a disk on which the store has these files.
  static func disk(_ files: MemoryFileSystem.Content) throws(SystemCallError) -> MemoryFileSystem {
    try MemoryFileSystem(path, files)
  }

  /// Reads the store's files on a disk.
  static func files(
    of disk: MemoryFileSystem
  ) throws(SystemCallError) -> MemoryFileSystem.Content {
    try disk.content(of: path)
  }

  static func open(_ disk: MemoryFileSystem) throws(StoreError) -> SealedFileStore {
    try SealedFileStore.open(
      at: path, key: key(),
      environment: StoreEnvironment(
        fileSystem: disk, random: SeededRandom(seed: 1), clock: nil, repairLease: .zero))
  }
}

/// Returns the code of the error that a closure throws, or `nil` if it returns.
func code(_ body: () throws(StoreError) -> Void) -> StoreError.Code? {
  do throws(StoreError) {
    try body()
    return nil
  } catch {
    return error.code
  }
}
