package import SealedStore
import SecretStores

/// The header of a store: its store key, wrapped in every slot, and the index key and the data key
/// of each epoch, wrapped with it.
///
/// `SSNTDBS1 ‖ format version 2 ‖ number of slots 2 ‖ number of epochs 2 ‖ zero 2 ‖ store id 16 ‖
/// number 8 ‖ slots ‖ nonce 24 and wrapped index key 48 ‖ epochs ‖ checksum 16 ‖ MAC 32`.
package struct DatabaseHeader: Equatable, Sendable {
  static let magic = UInt64(littleEndianText: "SSNTDBS1")
  private static let slotsOffset = 40
  private static let checksumByteCount = 16
  static let macByteCount = 32

  /// The length of a header of 16 slots of the largest size and 8 epochs; a longer one is not read.
  static let maximumByteCount =
    slotsOffset
    + KeySlot.maximumCount
    * (SlotHead.maximumByteCount + SlotRecord.commitmentByteCount + SlotRecord.wrappedByteCount)
    + SlotRecord.wrappedByteCount + EpochRecord.maximumCount * EpochRecord.byteCount
    + checksumByteCount + macByteCount

  package let store: StoreIdentifier
  /// The number of the header, from 1: every change of the header adds 1.
  package var number: Int64
  package var slots: [SlotRecord]
  var wrappedIndexKey: [UInt8]
  /// The epochs, in ascending order; one of them is written.
  package internal(set) var epochs: [EpochRecord]
  /// The MAC as it was read.
  ///
  /// ``encoded(headerKey:)`` makes a new one.
  private(set) var mac: [UInt8] = []

  /// The reason why bytes are not a header of this format.
  enum Defect: Error, Equatable {
    /// The checksum is wrong: accidental damage.
    case damaged
    /// The checksum is right, but no writer makes this content: it was changed on purpose.
    case forged
  }

  init(
    store: StoreIdentifier, number: Int64, slots: [SlotRecord], wrappedIndexKey: [UInt8],
    epochs: [EpochRecord]
  ) {
    self.store = store
    self.number = number
    self.slots = slots
    self.wrappedIndexKey = wrappedIndexKey
    self.epochs = epochs
  }

  init(_ bytes: [UInt8]) throws(Defect) {
    let buffer = ByteBuffer(bytes)
    let checked = bytes.count - Self.checksumByteCount - Self.macByteCount
    guard checked >= Self.slotsOffset, bytes.count <= Self.maximumByteCount,
      Sodium.hash16(buffer, 0..<checked, key: nil) == Bytes16(buffer, at: checked)
    else { throw .damaged }
    let slotCount = Int(buffer.load(UInt16.self, at: 10))
    let epochCount = Int(buffer.load(UInt16.self, at: 12))
    guard buffer.load(UInt64.self, at: 0) == Self.magic,
      buffer.load(UInt16.self, at: 8) == DatabaseFormat.version, buffer.isZero(14..<16),
      1...KeySlot.maximumCount ~= slotCount, 1...EpochRecord.maximumCount ~= epochCount,
      let number = Int64(exactly: buffer.load(UInt64.self, at: 32)), number > 0
    else { throw .forged }
    store = StoreIdentifier(bytes: Bytes16(buffer, at: 16))
    self.number = number

    slots = []
    var offset = Self.slotsOffset
    for _ in 0..<slotCount {
      guard let slot = SlotRecord(buffer, in: offset..<checked) else { throw .forged }
      slots.append(slot)
      offset += slot.byteCount
    }
    let indexKey = offset..<offset + SlotRecord.wrappedByteCount
    guard indexKey.upperBound + epochCount * EpochRecord.byteCount == checked else {
      throw .forged
    }
    wrappedIndexKey = buffer.bytes(indexKey)
    epochs = []
    for offset in stride(from: indexKey.upperBound, to: checked, by: EpochRecord.byteCount) {
      guard let record = EpochRecord(buffer, at: offset),
        epochs.last.map({ $0.epoch < record.epoch }) ?? true
      else { throw .forged }
      epochs.append(record)
    }
    guard epochs.count(where: { $0.state == .written }) == 1 else { throw .forged }
    mac = buffer.bytes(bytes.count - Self.macByteCount..<bytes.count)
  }

  /// The epoch with which new rows are sealed.
  ///
  /// - Precondition: One epoch is written, as in every header that was read.
  package var written: Epoch {
    guard let record = epochs.first(where: { $0.state == .written }) else {
      preconditionFailure("one epoch is written")
    }
    return record.epoch
  }

  /// Returns whether the header key made the MAC that was read.
  func isAuthentic(headerKey: KeyBytes) -> Bool {
    let buffer = encodedBuffer(headerKey: headerKey)
    return Sodium.isEqual(mac, buffer, at: buffer.byteCount - Self.macByteCount)
  }

  /// Encodes the whole header with a new checksum and MAC.
  func encoded(headerKey: KeyBytes) -> [UInt8] {
    let buffer = encodedBuffer(headerKey: headerKey)
    return buffer.bytes(0..<buffer.byteCount)
  }

  private func encodedBuffer(headerKey: KeyBytes) -> ByteBuffer {
    let checked =
      Self.slotsOffset + slots.reduce(0) { $0 + $1.byteCount } + SlotRecord.wrappedByteCount
      + epochs.count * EpochRecord.byteCount
    let buffer = ByteBuffer(
      byteCount: checked + Self.checksumByteCount + Self.macByteCount)
    buffer.store(Self.magic, at: 0)
    buffer.store(DatabaseFormat.version, at: 8)
    buffer.store(UInt16(slots.count), at: 10)
    buffer.store(UInt16(epochs.count), at: 12)
    store.bytes.store(in: buffer, at: 16)
    buffer.store(UInt64(number), at: 32)
    var offset = Self.slotsOffset
    for slot in slots {
      buffer.copy(slot.leadingBytes + slot.wrapped, to: offset)
      offset += slot.byteCount
    }
    buffer.copy(wrappedIndexKey, to: offset)
    offset += SlotRecord.wrappedByteCount
    for record in epochs {
      record.store(in: buffer, at: offset)
      offset += EpochRecord.byteCount
    }
    Sodium.hash16(buffer, 0..<checked, key: nil).store(in: buffer, at: checked)
    let macOffset = checked + Self.checksumByteCount
    buffer.copy(Sodium.hash32(buffer, 0..<macOffset, key: headerKey), to: macOffset)
    return buffer
  }

  /// The slots as they are listed without a key.
  package var keySlots: [KeySlot] {
    slots.enumerated().map { KeySlot(number: $0 + 1, parameters: $1.parameters) }
  }
}
