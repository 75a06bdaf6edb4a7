import Foundation
package import SecretStores

/// The records of a change, sealed into one buffer for the end of the journal, with a new reserve
/// behind them when they do not fit into the old one.
struct SealedChange {
  private(set) var entries: [PendingRecords.Element] = []
  /// The end of the journal with the records.
  let end: JournalPosition
  let buffer: ByteBuffer
  private let start: Int
  private let byteCount: Int

  /// Seals records, one or more.
  ///
  /// - Parameters:
  ///   - records: The records to seal.
  ///   - journal: The journal to which they are bound.
  ///   - position: The end of the journal without them.
  ///   - fileByteCount: The length of the journal's file.
  ///   - keys: The keys that seal and chain them.
  ///   - memory: Memory that is not used for anything else until the change is sealed.
  init(
    of records: [UnsealedRecord], journal: JournalIdentifier, after position: JournalPosition,
    fileByteCount: Int, keys: KeyRing, memory: SealingMemory
  ) {
    var sealer = RecordSealer(
      records.count, journal: journal, position: position.record, keys: keys, memory: memory)
    let time = memory.clock.map { RecordTime($0()) }
    start = position.byteCount
    byteCount = records.reduce(0) { $0 + $1.lengths.record }
    let end = start + byteCount
    buffer = ByteBuffer(
      byteCount: (end <= fileByteCount ? end : JournalReserve.end(behind: end)) - start)
    entries.reserveCapacity(records.count)
    var offset = 0
    // Used in place: bound to a name, each record would be copied.
    let records = records.span
    for place in records.indices {
      var kind: RecordKind = place == 0 ? .first : []
      if place == records.count - 1 { kind.insert(.last) }
      let entry = records[place].seal(
        in: buffer, at: offset, kind: kind, time, &sealer, tagKey: keys.tagKey)
      entries.append((entry, records[place].isRemoval))
      offset += entry.recordByteCount
    }
    self.end = JournalPosition(record: sealer.position, version: position.version &+ 1)
  }

  /// Whether there is a reserve behind the records.
  var hasReserve: Bool { buffer.byteCount > byteCount }

  /// Writes the change, which counts once the mark includes it.
  ///
  /// - Parameters:
  ///   - file: The journal.
  ///   - withReserve: Whether the reserve is also written, if there is one.
  ///   - written: The number of bytes that were written, also after a failure.
  /// - Returns: The length that the file has at least.
  /// - Throws: `noSpace`, `accessDenied` or `io`; a part may have been written then, and all of the
  ///   change when there is a reserve.
  func write(
    to file: OpenFile, withReserve: Bool, written: inout Int
  ) throws(StoreError) -> Int {
    let range = 0..<(withReserve ? buffer.byteCount : byteCount)
    try file.write(buffer, range, at: start, written: &written)
    return start + range.count
  }
}

/// A record before it is sealed.
struct UnsealedRecord {
  /// The name of the item; `nil` in a void change.
  private let name: ItemName?
  /// The value; `nil` in a removal.
  private let value: SecretBytes?
  private let nameByteCount: Int
  let lengths: RecordLengths

  /// Creates the record of a change.
  ///
  /// - Parameters:
  ///   - change: The change.
  ///   - removedByteCount: The length of the record that a removal removes.
  init(_ change: StoreChange, removing removedByteCount: Int? = nil) {
    switch change {
    case .put(let value, for: let name):
      self.name = name
      self.value = value
      nameByteCount = name.canonicalByteCount
      lengths = RecordLengths(nameByteCount: nameByteCount, valueByteCount: value.byteCount)
    case .remove(let name):
      self.name = name
      value = nil
      nameByteCount = name.canonicalByteCount
      lengths = RecordLengths(nameByteCount: nameByteCount, removing: removedByteCount)
    }
  }

  private init() {
    name = nil
    value = nil
    nameByteCount = 0
    lengths = RecordLengths(nameByteCount: 0, removing: nil)
  }

  /// A record that changes no item: the removal of an empty name.
  static let void = UnsealedRecord()

  var isRemoval: Bool { value == nil }

  /// Writes the record into a buffer of zeros and seals it there.
  func seal(
    in buffer: ByteBuffer, at offset: Int, kind: RecordKind, _ time: RecordTime?,
    _ sealer: inout RecordSealer, tagKey: KeyBytes
  ) -> ItemIndex.Entry {
    let start = lengths.nameRange(at: offset).lowerBound
    name?.storeCanonical(in: buffer, at: start)
    let tag = ItemTag(of: buffer, start..<start + nameByteCount, tagKey: tagKey)
    if let value {
      let start = lengths.valueRange(at: offset).lowerBound
      buffer.store(UInt32(value.byteCount), at: start)
      buffer.copy(value, to: start + 4)
    }
    return sealer.seal(
      buffer, at: offset, lengths, kind: isRemoval ? kind.union(.removed) : kind, tag: tag,
      time: time)
  }
}

/// The memory in which a writer seals, kept between changes so that sealing allocates nothing.
final class SealingMemory {
  /// The associated data of both sealings: journal id 16 ‖ bound prefix 32.
  fileprivate let associatedData = RecordOpener.associatedData()
  fileprivate let chainInput = RecordChain.input()
  fileprivate let nonces: NonceSupply
  fileprivate let clock: (@Sendable () -> Date)?

  /// - Parameters:
  ///   - random: The source of nonces.
  ///   - clock: Returns the time to keep with items that are put; `nil` to keep none.
  init(random: any RandomSource, clock: (@Sendable () -> Date)? = nil) {
    nonces = NonceSupply(random: random)
    self.clock = clock
  }
}

/// A sealer of records, one after another in a buffer, each chained to the one before.
struct RecordSealer {
  private let keys: KeyRing
  private let memory: SealingMemory
  private var chain: RecordChain

  /// The end of the records that were sealed.
  var position: RecordPosition { chain.position }

  /// Begins a change.
  ///
  /// - Parameters:
  ///   - count: The number of its records; `.max` if it is not known.
  ///   - journal: The journal to which the records are bound.
  ///   - position: The position of the first record.
  ///   - keys: The keys that seal and chain the records.
  ///   - memory: Memory that is not used for anything else until the change is sealed.
  init(
    _ count: Int, journal: JournalIdentifier, position: RecordPosition, keys: KeyRing,
    memory: SealingMemory
  ) {
    self.keys = keys
    self.memory = memory
    chain = RecordChain(after: position, chainKey: keys.chainKey, input: memory.chainInput)
    memory.nonces.begin(count)
    journal.bytes.store(in: memory.associatedData, at: 0)
  }

  /// Seals a record whose name and value are in their places in the buffer, with zeros behind each.
  ///
  /// - Parameters:
  ///   - buffer: The buffer with `prefix 72 ‖ name ‖ tag 16 ‖ value ‖ tag 16` from `offset` on;
  ///     prefix and tags are written here.
  ///   - offset: The start of the record.
  ///   - lengths: The lengths of the sealed parts.
  ///   - kind: The kind of the record.
  ///   - tag: The tag of the item.
  ///   - time: When the item was put, if that is known.
  /// - Returns: The entry of the record, with its place in the journal.
  mutating func seal(
    _ buffer: ByteBuffer, at offset: Int, _ lengths: RecordLengths, kind: RecordKind, tag: ItemTag,
    time: RecordTime?
  ) -> ItemIndex.Entry {
    let number = position.number + 1
    let nonce = RecordPrefix.nonceRange(at: offset)
    memory.nonces.next(into: buffer, at: nonce.lowerBound)
    time?.store(in: buffer, at: nonce.lowerBound, maskKey: keys.maskKey)
    RecordPrefix.store(
      lengths, number: number, kind: kind, tag: tag, maskKey: keys.maskKey, in: buffer, at: offset)
    memory.associatedData.copy(
      buffer, offset..<offset + RecordPrefix.boundByteCount, to: 16)
    Sodium.seal(
      buffer, lengths.nameRange(at: offset), nonce: nonce,
      associatedData: memory.associatedData, key: keys.nameKey)
    Sodium.seal(
      buffer, lengths.valueRange(at: offset), nonce: nonce,
      associatedData: memory.associatedData, key: keys.valueKey)

    let value = chain.value(buffer, at: offset, lengths)
    value.bytes.store(in: buffer, at: offset + RecordPrefix.chainedByteCount)
    let entry = ItemIndex.Entry(
      tag: tag, offset: UInt64(position.byteCount), recordByteCount: lengths.record,
      nonceStart: RecordPrefix.nonceStart(buffer, at: offset))
    chain.advance(lengths.record, number: number, chain: value)
    return entry
  }
}

/// A supply of fresh nonces, fetched many at a time and not with a system call for each.
///
/// A class, so that no two copies can give out the same nonce.
package final class NonceSupply {
  private static let maximumBlockCount = 128

  private let random: any RandomSource
  private let block = ByteBuffer(byteCount: maximumBlockCount * Sodium.nonceByteCount)
  /// The number still to be fetched for the current change; `.max` or less if it is not known.
  private var missingCount = 0
  private var filledByteCount = 0
  private var usedByteCount = 0

  /// - Parameter random: The source of the nonces.
  package init(random: any RandomSource) {
    self.random = random
  }

  /// Begins a change.
  ///
  /// Nonces that are left of an earlier change are never used: a forked child has them, too.
  ///
  /// - Parameter count: The number of nonces that will be needed; `.max` if it is not known.
  package func begin(_ count: Int) {
    (missingCount, filledByteCount, usedByteCount) = (count, 0, 0)
  }

  /// Writes the next nonce into a buffer.
  package func next(into buffer: ByteBuffer, at offset: Int) {
    if usedByteCount == filledByteCount {
      let count = min(max(1, missingCount), Self.maximumBlockCount)
      missingCount -= count
      (filledByteCount, usedByteCount) = (count * Sodium.nonceByteCount, 0)
      random.fill(block, 0..<filledByteCount)
    }
    buffer.copy(block, usedByteCount..<usedByteCount + Sodium.nonceByteCount, to: offset)
    usedByteCount += Sodium.nonceByteCount
  }
}
