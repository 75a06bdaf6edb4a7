import SecretStores

/// The header of a store: the store key, wrapped in every slot, and the data key, wrapped with it.
///
/// `SSNTOOLS ‖ format version 2 ‖ number of slots 2 ‖ zero 4 ‖ store id 16 ‖ slots ‖
/// nonce 24 and wrapped data key 48 ‖ checksum 16 ‖ MAC 32`.
struct Header: Equatable {
  static let formatVersion: UInt16 = 1
  static let magic = UInt64(littleEndianText: "SSNTOOLS")
  private static let slotsOffset = 32
  private static let checksumByteCount = 16
  private static let macByteCount = 32

  /// The length of a header of 16 slots of the largest size; a larger file is not read.
  static let maximumByteCount =
    slotsOffset
    + KeySlot.maximumCount
    * (SlotHead.maximumByteCount + SlotRecord.commitmentByteCount + SlotRecord.wrappedByteCount)
    + SlotRecord.wrappedByteCount + checksumByteCount + macByteCount

  let store: StoreIdentifier
  var slots: [SlotRecord]
  var wrappedDataKey: [UInt8]
  /// The MAC as it was read.
  ///
  /// ``encoded(headerKey:)`` makes a new one.
  private(set) var mac: [UInt8] = []

  /// The reason why bytes are not a header of this format.
  enum Defect: Error, Equatable {
    /// The checksum is wrong: accidental damage.
    case damaged
    /// A newer version wrote the header.
    case unsupportedVersion(UInt16)
    /// The checksum is right, but no writer makes this content: it was changed on purpose.
    case forged
  }

  init(store: StoreIdentifier, slots: [SlotRecord], wrappedDataKey: [UInt8]) {
    self.store = store
    self.slots = slots
    self.wrappedDataKey = wrappedDataKey
  }

  init(_ buffer: ByteBuffer, byteCount: Int) throws(Defect) {
    let checked = byteCount - Self.checksumByteCount - Self.macByteCount
    guard checked >= Self.slotsOffset, byteCount <= Self.maximumByteCount,
      Sodium.hash16(buffer, 0..<checked, key: nil) == Bytes16(buffer, at: checked)
    else { throw .damaged }
    guard buffer.load(UInt64.self, at: 0) == Self.magic else { throw .forged }
    let version = buffer.load(UInt16.self, at: 8)
    guard version == Self.formatVersion else { throw .unsupportedVersion(version) }
    let slotCount = Int(buffer.load(UInt16.self, at: 10))
    guard buffer.isZero(12..<16), 1...KeySlot.maximumCount ~= slotCount else { throw .forged }
    store = StoreIdentifier(bytes: Bytes16(buffer, at: 16))

    slots = []
    var offset = Self.slotsOffset
    for _ in 0..<slotCount {
      guard let slot = SlotRecord(buffer, in: offset..<checked) else { throw .forged }
      slots.append(slot)
      offset += slot.byteCount
    }
    guard offset + SlotRecord.wrappedByteCount == checked else { throw .forged }
    wrappedDataKey = buffer.bytes(offset..<checked)
    mac = buffer.bytes(byteCount - Self.macByteCount..<byteCount)
  }

  /// Returns whether the header key made the MAC that was read.
  func isAuthentic(headerKey: KeyBytes) -> Bool {
    let buffer = encoded(headerKey: headerKey)
    return Sodium.isEqual(mac, buffer, at: buffer.byteCount - Self.macByteCount)
  }

  /// Encodes the whole header with a new checksum and MAC.
  func encoded(headerKey: KeyBytes) -> ByteBuffer {
    let checked =
      Self.slotsOffset + slots.reduce(0) { $0 + $1.byteCount } + SlotRecord.wrappedByteCount
    let buffer = ByteBuffer(
      byteCount: checked + Self.checksumByteCount + Self.macByteCount)
    buffer.store(Self.magic, at: 0)
    buffer.store(Self.formatVersion, at: 8)
    buffer.store(UInt16(slots.count), at: 10)
    store.bytes.store(in: buffer, at: 16)
    var offset = Self.slotsOffset
    for slot in slots {
      buffer.copy(slot.leadingBytes + slot.wrapped, to: offset)
      offset += slot.byteCount
    }
    buffer.copy(wrappedDataKey, to: offset)
    Sodium.hash16(buffer, 0..<checked, key: nil).store(in: buffer, at: checked)
    let macOffset = checked + Self.checksumByteCount
    buffer.copy(Sodium.hash32(buffer, 0..<macOffset, key: headerKey), to: macOffset)
    return buffer
  }

  /// The slots as they are listed without a key.
  var keySlots: [KeySlot] {
    slots.enumerated().map { KeySlot(number: $0 + 1, parameters: $1.parameters) }
  }
}
