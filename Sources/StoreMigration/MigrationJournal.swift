import Foundation
import SealedStore
import SessionToolsBase

/// The journal of a migration, written to a store of the caller's before anything is changed.
///
/// - `header` records what is migrated and how far the migration is.
/// - `batch 1`, `batch 2`, … each list the items of one change of the target, and are written
///   before that change.
/// - `kept 1/7` is the value that the target had under the name of the first batch's item 7.
/// - `removed 1` has a bit for every item of the first batch that is removed from the source, or
///   about to be; `original 1/7` is the value that the source had, if the target has another.
/// - `outcomes 1`, … record the outcomes of the items that are in no batch.
struct MigrationJournal: Sendable {
  static let namespace: StoreNamespace = "org.session-tools.migration"
  static let version = 1
  /// The limit of one record, which has 9 MB with the longest names.
  private static let largestOutcomeCount = 200

  let store: any SecretStore

  struct Header: Codable {
    enum Phase: String, Codable {
      case copying, copied, finished, undoing, undone
      /// The content of the journal is no longer needed, and is being removed.
      case closing
    }

    var version = MigrationJournal.version
    var options: MigrationOptions
    let isTransformed: Bool
    /// The identities of the stores, if these are known.
    let source: String?
    let target: String?
    /// The key of digests that mean nothing outside of this migration.
    let digestKey: Data
    var phase = Phase.copying
    /// How many batches were begun; all but the last one are completely in the target.
    var batchCount = 0
    var outcomeCount = 0
    /// The reason why the source could not list all its items, if it could not.
    var damage: StoredError?
  }

  static func key(_ name: String) throws(StoreError) -> StoreKey {
    try StoreKey(name, in: namespace)
  }

  // MARK: Header

  /// Reads the header; returns `nil` if there is no migration.
  ///
  /// - Throws: As reading the store; `corrupt` or `unsupportedVersion`.
  func header() throws(StoreError) -> Header? {
    guard let value = try store.value(for: Self.key("header")) else { return nil }
    struct Version: Decodable { let version: Int }
    let data = Data(value.copyBytes())
    guard let found = try? JSONDecoder().decode(Version.self, from: data) else {
      throw corrupt("header")
    }
    guard found.version == Self.version else {
      throw StoreError(
        .unsupportedVersion, store: "migration journal",
        reason: "it has version \(found.version)", remedy: "Use a newer version of the program")
    }
    guard let header = try? JSONDecoder().decode(Header.self, from: data) else {
      throw corrupt("header")
    }
    return header
  }

  func change(of header: Header) throws(StoreError) -> StoreChange {
    .put(try encode(header), for: try Self.key("header"))
  }

  // MARK: Batches

  /// Reads a batch.
  ///
  /// - Throws: As reading the store; `corrupt`.
  func batch(_ number: Int) throws(StoreError) -> MigrationBatch {
    guard let value = try store.value(for: Self.key("batch \(number)")),
      let batch = MigrationBatch(value)
    else { throw corrupt("batch \(number)") }
    return batch
  }

  func change(of batch: MigrationBatch, _ number: Int) throws(StoreError) -> StoreChange {
    .put(batch.encoded, for: try Self.key("batch \(number)"))
  }

  /// Returns the name of the value that the target had before.
  static func keptKey(_ batch: Int, _ position: Int) throws(StoreError) -> StoreKey {
    try key("kept \(batch)/\(position)")
  }

  // MARK: Removals

  /// Reads the positions in a batch of the items that are removed from the source, or about to be.
  ///
  /// - Throws: As reading the store.
  func removals(_ batch: Int) throws(StoreError) -> Set<Int> {
    guard let value = try store.value(for: Self.key("removed \(batch)")) else { return [] }
    var positions: Set<Int> = []
    for (index, byte) in value.copyBytes().enumerated() {
      for bit in 0..<8 where byte & (1 << UInt8(bit)) != 0 { positions.insert(index * 8 + bit) }
    }
    return positions
  }

  func change(ofRemovals positions: Set<Int>, _ batch: Int) throws(StoreError) -> StoreChange {
    var bytes = [UInt8](repeating: 0, count: (positions.max() ?? 0) / 8 + 1)
    for position in positions { bytes[position / 8] |= 1 << UInt8(position % 8) }
    return .put(SecretBytes(bytes), for: try Self.key("removed \(batch)"))
  }

  /// Returns the name of the value that the source had, if the target has another.
  static func originalKey(_ batch: Int, _ position: Int) throws(StoreError) -> StoreKey {
    try key("original \(batch)/\(position)")
  }

  // MARK: Outcomes

  /// An error as the journal stores it.
  struct StoredError: Codable {
    let code: String
    let store: String
    let reason: String
    let remedy: String?

    init(_ error: StoreError) {
      (code, store) = (error.code.description, error.store)
      (reason, remedy) = (error.reason, error.remedy)
    }

    var error: StoreError {
      StoreError(StoreError.Code(code), store: store, reason: reason, remedy: remedy)
    }
  }

  private struct StoredOutcome: Codable {
    let source: Data
    let target: Data
    let isLeft: Bool
    let error: StoredError?
  }

  /// Writes the outcomes of items that are in no batch.
  ///
  /// - Returns: The number of records, which are numbered from 1.
  /// - Throws: As changing the store.
  func write(outcomes entries: [MigrationReport.Entry]) throws(StoreError) -> Int {
    let records = entries.map { entry in
      let (isLeft, error): (Bool, StoreError?) =
        switch entry.outcome {
        case .migrated, .moved, .skipped: (false, nil)
        case .left: (true, nil)
        case .failed(let error): (false, error)
        }
      return StoredOutcome(
        source: Data(entry.source.canonicalBytes), target: Data(entry.target.canonicalBytes),
        isLeft: isLeft,
        error: error.map(StoredError.init))
    }
    let parts = records.parts(of: Self.largestOutcomeCount)
    for (number, part) in parts.enumerated() {
      try store.apply([.put(try encode(Array(part)), for: try Self.key("outcomes \(number + 1)"))])
    }
    return parts.count
  }

  /// Reads the outcomes of items that are in no batch.
  ///
  /// - Throws: As reading the store; `corrupt`.
  func outcomes(_ count: Int) throws(StoreError) -> [MigrationReport.Entry] {
    var entries: [MigrationReport.Entry] = []
    for number in 0..<count {
      guard let value = try store.value(for: Self.key("outcomes \(number + 1)")),
        let records = try? JSONDecoder().decode(
          [StoredOutcome].self, from: Data(value.copyBytes()))
      else { throw corrupt("list of outcomes") }
      for record in records {
        guard let source = StoreKey(canonicalBytes: Array(record.source)),
          let target = StoreKey(canonicalBytes: Array(record.target))
        else { throw corrupt("list of outcomes") }
        entries.append(
          MigrationReport.Entry(
            source: source, target: target,
            outcome: record.error.map { .failed($0.error) } ?? (record.isLeft ? .left : .skipped)))
      }
    }
    return entries
  }

  // MARK: Closing

  /// Removes everything, the header last; a journal whose removal is interrupted counts as removed.
  ///
  /// - Throws: As changing the store.
  func clear() throws(StoreError) {
    do throws(StoreError) {
      if var header = try header() {
        header.phase = .closing
        try store.apply([change(of: header)])
      }
    } catch let error
      where [StoreError.corrupt, StoreError.unsupportedVersion].contains(error.code)
    {
      // This migration cannot be resumed, so its journal may be removed in parts.
    }
    let headerKey = try Self.key("header")
    let keys = try store.keys(in: Self.namespace).filter { $0 != headerKey }
    for part in keys.parts(of: 1000) { try store.apply(part.map(StoreChange.remove)) }
    if try store.contains(headerKey) { try store.remove(headerKey) }
  }

  private func encode(_ value: some Encodable) throws(StoreError) -> SecretBytes {
    do {
      return SecretBytes(try JSONEncoder().encode(value))
    } catch {
      // Not expected: only texts, numbers and bytes are encoded.
      throw StoreError(
        .unencodable, store: "migration journal", reason: "\(error)", underlying: error)
    }
  }

  private func corrupt(_ part: String) -> StoreError {
    StoreError(
      .corrupt, store: "migration journal", reason: "its \(part) is missing or damaged",
      remedy: "Compare both stores, and close the migration")
  }
}

/// The items of one change of the target.
struct MigrationBatch: Sendable {
  enum Prior: Sendable, Equatable {
    /// The target had no item of the name.
    case absent
    /// The target had the same value.
    case same
    /// The target had another value.
    case other(ItemDigest)
  }

  struct Entry: Sendable {
    let source: StoreKey
    let target: StoreKey
    /// The digest of the item as it is in the target.
    let digest: ItemDigest
    let prior: Prior
  }

  let entries: [Entry]

  init(_ entries: [Entry]) {
    self.entries = entries
  }

  /// For each entry: length 4 ‖ source's key ‖ length 4 ‖ target's key ‖ digest 16 ‖ kind of prior
  /// 1 ‖ prior digest 16.
  var encoded: SecretBytes {
    let byteCount = entries.reduce(0) { sum, entry in
      sum + 41 + entry.source.canonicalByteCount + entry.target.canonicalByteCount
    }
    let buffer = ByteBuffer(byteCount: byteCount, isSecret: true)
    var offset = 0
    for entry in entries {
      for key in [entry.source, entry.target] {
        buffer.store(UInt32(key.canonicalByteCount), at: offset)
        key.storeCanonical(in: buffer, at: offset + 4)
        offset += 4 + key.canonicalByteCount
      }
      entry.digest.store(in: buffer, at: offset)
      switch entry.prior {
      case .absent: buffer.store(UInt8(0), at: offset + 16)
      case .same: buffer.store(UInt8(1), at: offset + 16)
      case .other(let digest):
        buffer.store(UInt8(2), at: offset + 16)
        digest.store(in: buffer, at: offset + 17)
      }
      offset += 33
    }
    return SecretBytes(in: buffer, 0..<byteCount)
  }

  init?(_ value: SecretBytes) {
    let buffer = ByteBuffer(value.copyBytes(), isSecret: true)
    var entries: [Entry] = []
    var offset = 0
    while offset < buffer.byteCount {
      guard let source = Self.key(in: buffer, at: &offset),
        let target = Self.key(in: buffer, at: &offset), offset + 33 <= buffer.byteCount
      else { return nil }
      let prior: Prior
      switch buffer.load(UInt8.self, at: offset + 16) {
      case 0: prior = .absent
      case 1: prior = .same
      case 2: prior = .other(ItemDigest(buffer, at: offset + 17))
      default: return nil
      }
      entries.append(
        Entry(
          source: source, target: target, digest: ItemDigest(buffer, at: offset), prior: prior))
      offset += 33
    }
    self.entries = entries
  }

  private static func key(in buffer: ByteBuffer, at offset: inout Int) -> StoreKey? {
    guard offset + 4 <= buffer.byteCount else { return nil }
    let start = offset + 4
    let end = start + Int(buffer.load(UInt32.self, at: offset))
    guard end <= buffer.byteCount else { return nil }
    offset = end
    return StoreKey(canonicalBytes: buffer.bytes(start..<end))
  }
}
