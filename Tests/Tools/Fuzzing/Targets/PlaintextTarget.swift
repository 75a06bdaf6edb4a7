import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport

/// A journal of one record that is properly sealed and chained but has any contents.
enum PlaintextTarget {
  static func check(_ bytes: [UInt8]) throws {
    var input = FuzzInput(bytes)
    let choice = input.byte()
    let isRemoved = choice & 1 != 0
    var (name, value) = choice & 2 != 0 ? raw(&input) : wellFormed(&input)
    while !input.isEmpty {
      let offset = input.word() % max(1, name.count + value.count)
      let mask = input.byte()
      if offset < name.count {
        name[offset] ^= mask
      } else if offset < name.count + value.count {
        value[offset - name.count] ^= mask
      }
    }
    // The right length, or one step more.
    let nameByteCount = Primitives.padded(name: name.count)
    name = name.filled(to: choice & 4 == 0 ? nameByteCount : nameByteCount + 64)
    let valueByteCount = Primitives.padded(value.count)
    value = value.filled(
      to: choice & 16 == 0 ? valueByteCount : Primitives.padded(valueByteCount + 1))

    let canonicalName = JournalRecord.canonicalName(in: name)
    var tag = KnownStore.tag(of: canonicalName ?? [])
    if choice & 8 != 0 { tag[0] ^= 1 }
    var journal = JournalBuilder()
    journal.append(name: name, value: value, kind: isRemoved ? 7 : 6, tag: tag)
    let isNamed = canonicalName.map { choice & 8 == 0 && (isRemoved || !$0.isEmpty) } ?? false
    try check(
      journal, isRemoved: isRemoved,
      name: isNamed ? canonicalName.flatMap(ItemName.init(canonicalBytes:)) : nil,
      value: JournalRecord.content(of: value, isRemoved: isRemoved), isNamed: isNamed)
  }

  /// Takes any bytes for name and value.
  private static func raw(_ input: inout FuzzInput) -> (name: [UInt8], value: [UInt8]) {
    let byteCount = Int(input.byte())
    let name = input.bytes(byteCount)
    return (name, input.remaining())
  }

  /// Makes a name, and a value with its length.
  private static func wellFormed(_ input: inout FuzzInput) -> (name: [UInt8], value: [UInt8]) {
    let parts = (0..<2).map { _ in
      let byteCount = input.byte()
      return input.bytes(Int(byteCount))
    }
    let name = parts.map { [1] + UInt32($0.count).littleEndianBytes + $0 }
    let valueByteCount = input.word()
    let value = input.bytes(valueByteCount)
    return (name[0] + [0, 0] + name[1], UInt32(value.count).littleEndianBytes + value)
  }

  private static func check(
    _ journal: JournalBuilder, isRemoved: Bool, name: ItemName?, value: [UInt8]?, isNamed: Bool
  ) throws {
    let disk = try KnownStore.disk(
      KnownStore.files(journal: journal.bytes, mark: journal.markAtEnd))
    let store = try KnownStore.open(disk)
    let isValid = isNamed && value != nil
    try require(
      try store.verify().isSound == isValid, "valid: \(isValid), but verified as: \(!isValid)")
    var names: [ItemName]?
    let listing = code { () throws(StoreError) in names = try store.names(in: nil) }
    if isRemoved { return try require(names == [], "a removed item is listed: \(names as Any)") }
    guard let name else {
      return try require(listing == StoreError.corrupt, "\(listing as Any) without a name")
    }
    try require(names == [name], "\(names as Any) is not \(name)")
    guard let value else {
      let reading = code { () throws(StoreError) in _ = try store.value(for: name) }
      return try require(reading == StoreError.corrupt, "\(reading as Any) for an invalid value")
    }
    for store in [store, try KnownStore.open(disk)] {
      try require(try store.names(in: nil) == [name], "\(names as Any) is not \(name)")
      try require(try store.value(for: name)?.copyBytes() == value, "the value differs")
      // Resealing must not change the item, for the other store object either.
      try store.rotate()
    }
  }
}
