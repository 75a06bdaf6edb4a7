import SealedStore
import SessionToolsBase
import StoreTestSupport

/// A journal of one record that is sealed and chained as it should be, whatever is in it.
enum PlaintextTarget {
  static func check(_ bytes: [UInt8]) throws {
    var input = FuzzInput(bytes)
    let choice = input.byte()
    let isRemoved = choice & 1 != 0
    var plaintext = choice & 2 != 0 ? input.remaining() : wellFormed(&input)
    while !input.isEmpty {
      let offset = input.word() % plaintext.count
      plaintext[offset] ^= input.byte()
    }
    var byteCount = Primitives.padded(plaintext.count)
    if choice & 4 != 0 { byteCount = Primitives.padded(byteCount + 1) }
    plaintext += [UInt8](repeating: 0, count: byteCount - plaintext.count)

    let layout = layout(of: plaintext)
    let key = layout.flatMap { StoreKey(canonicalBytes: $0.key) }
    var tag = KnownStore.tag(of: layout?.key ?? [])
    if choice & 8 != 0 { tag[0] ^= 1 }
    let isValid =
      key != nil && choice & 8 == 0 && (!isRemoved || layout?.value.isEmpty ?? false)
    var journal = JournalBuilder()
    journal.append(plaintext, flags: isRemoved ? 7 : 6, tag: tag)
    try check(journal, isRemoved ? nil : key, value: layout?.value ?? [], isRemoved, isValid)
  }

  /// Lengths, key and value that fit each other.
  private static func wellFormed(_ input: inout FuzzInput) -> [UInt8] {
    let parts = (0..<2).map { _ in
      let byteCount = input.byte()
      return input.bytes(Int(byteCount))
    }
    let key = parts.map { [1] + UInt32($0.count).littleEndianBytes + $0 }
    let canonicalKey = key[0] + [0, 0] + key[1]
    let valueByteCount = input.word()
    let value = input.bytes(valueByteCount)
    return UInt32(canonicalKey.count).littleEndianBytes + UInt32(value.count).littleEndianBytes
      + canonicalKey + value
  }

  /// Key and value as the format describes them; `nil` when a plaintext breaks its rules.
  static func layout(of plaintext: [UInt8]) -> (key: [UInt8], value: [UInt8])? {
    let keyByteCount = Int(plaintext.integer(at: 0, byteCount: 4))
    let valueByteCount = Int(plaintext.integer(at: 4, byteCount: 4))
    let byteCount = 8 + keyByteCount + valueByteCount
    guard byteCount <= plaintext.count, Primitives.padded(byteCount) == plaintext.count,
      plaintext[byteCount...].allSatisfy({ $0 == 0 })
    else { return nil }
    return (
      Array(plaintext[8..<8 + keyByteCount]), Array(plaintext[8 + keyByteCount..<byteCount])
    )
  }

  private static func check(
    _ journal: JournalBuilder, _ key: StoreKey?, value: [UInt8], _ isRemoved: Bool, _ isValid: Bool
  ) throws {
    let disk = try KnownStore.disk(
      KnownStore.files(journal: journal.bytes, mark: journal.markAtEnd))
    let store = try KnownStore.open(disk)
    var keys: [StoreKey]?
    let listing = code { () throws(StoreError) in keys = try store.keys(in: nil) }
    try require(
      try store.verify().isSound == isValid, "valid: \(isValid), and verified as the opposite")
    if isRemoved { return try require(keys == [], "a removed item is listed: \(keys as Any)") }
    guard isValid, let key else {
      return try require(listing == StoreError.corrupt, "\(listing as Any) for an invalid record")
    }
    for store in [store, try KnownStore.open(disk)] {
      try require(try store.keys(in: nil) == [key], "\(keys as Any) is not \(key)")
      try require(try store.value(for: key)?.copyBytes() == value, "the value differs")
      // Sealed anew from what was read, it is the same, for the other store as well.
      try store.rotate()
    }
  }
}
