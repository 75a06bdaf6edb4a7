import SessionToolsBase

/// Writes a journal of the known store, in order and out of order.
struct JournalBuilder {
  /// What a record of an item seals.
  struct Item: Hashable {
    let key: StoreKey
    let value: [UInt8]
  }

  static let keys: [StoreKey] = {
    let group = "group"
    do {
      let spaces = [
        try Namespace(service: "s"), try Namespace(service: "s", accessGroup: group),
        try Namespace(service: "s", accessGroup: group, install: InstallIdentifier(rawValue: "i")),
      ]
      return try spaces.map { try StoreKey("a", in: $0) } + [StoreKey("b", in: spaces[0])]
    } catch {
      preconditionFailure("\(error)")
    }
  }()

  private(set) var bytes = KnownStore.journalHead()
  private(set) var mark: [UInt8]?
  /// Everything that was ever sealed.
  private(set) var items: Set<Item> = []
  private var journal = KnownStore.journalIdentifier
  private var number: UInt64 = 0
  private var chain = Array(KnownStore.journalHead()[48...])
  private var records: [[UInt8]] = []

  /// A mark that says that everything is confirmed.
  var markAtEnd: [UInt8] {
    KnownStore.mark(journal, byteCount: bytes.count, number: number, chain: chain)
  }

  /// Appends a record as a writer does, whatever it seals.
  mutating func append(
    _ plaintext: [UInt8], flags: UInt8, tag: [UInt8], numberStep: UInt64 = 1, reserved: UInt8 = 0
  ) {
    number &+= numberStep
    let bound =
      UInt32(plaintext.count + 40).littleEndianBytes + [flags, reserved, 0, 0]
      + number.littleEndianBytes + tag
    let sealed = Primitives.seal(
      plaintext, key: KnownStore.recordKey, nonce: KnownStore.nonce,
      binding: journal + bound)
    chain = Primitives.sip(key: KnownStore.chainKey, chain + bound + sealed.suffix(16))
    let record = bound + chain + sealed
    bytes += record
    records.append(record)
  }

  private mutating func appendItem(
    _ choice: UInt8, valueByteCount: Int, numberStep: UInt64 = 1, reserved: UInt8 = 0
  ) {
    let key = Self.keys[Int(choice & 3)]
    let flags = choice >> 2 & 7
    let canonicalKey = key.canonicalBytes
    // Another value each time, so that an old one is not taken for a new one.
    let value =
      flags & 1 != 0 ? [] : [UInt8](repeating: UInt8(records.count & 255), count: valueByteCount)
    if flags & 1 == 0 { items.insert(Item(key: key, value: value)) }
    var plaintext =
      UInt32(canonicalKey.count).littleEndianBytes + UInt32(value.count).littleEndianBytes
      + canonicalKey + value
    plaintext += [UInt8](
      repeating: 0, count: Primitives.padded(plaintext.count) - plaintext.count)
    append(
      plaintext, flags: flags, tag: KnownStore.tag(of: canonicalKey), numberStep: numberStep,
      reserved: reserved)
  }

  /// Does one thing that the input says, right or wrong.
  mutating func perform(_ input: inout FuzzInput) {
    let operation = input.byte()
    switch operation & 15 {
    case 0...3: appendItem(input.byte(), valueByteCount: Int(input.byte()))
    // A whole change, and a mark behind it.
    case 4: appendItem(operation >> 4 & 3 | 24, valueByteCount: 1)
    case 5:
      appendItem(operation >> 4 & 3 | 24, valueByteCount: 1)
      mark = markAtEnd
    case 6: mark = markAtEnd
    case 7: forgetMark(operation >> 4)
    case 8:
      let step = UInt64(input.byte()) << UInt64(input.byte() & 63)
      appendItem(operation >> 4 | 24, valueByteCount: 1, numberStep: step)
    case 9: appendItem(operation >> 4 | 24, valueByteCount: 1, reserved: input.byte())
    case 10: replay(Int(input.byte()))
    case 11: overwrite(&input, runByteCount: Int(operation >> 4))
    case 12: bytes.removeLast(bytes.count - input.word() % (bytes.count + 1))
    case 13:
      let count = Int(input.byte())
      bytes += input.bytes(count)
    case 14: bytes += [UInt8](repeating: 0, count: 16 * Int(input.byte()))
    default: chainAnew()
    }
  }

  /// Leaves no mark, or that of another journal, in whose place this one was put or not.
  private mutating func forgetMark(_ choice: UInt8) {
    guard choice > 0 else { return mark = nil }
    let earlier = KnownStore.mark(
      KnownStore.identifier, byteCount: 1000, number: 4, chain: KnownStore.identifier)
    mark = earlier
    guard choice & 1 == 0, bytes.count == 64 else { return }
    journal = KnownStore.successor(of: earlier)
    bytes = KnownStore.journalHead(journal)
    chain = Array(bytes[48...])
  }

  /// Changes one byte, or makes a run of equal ones.
  private mutating func overwrite(_ input: inout FuzzInput, runByteCount: Int) {
    guard !bytes.isEmpty else { return }
    let offset = input.word() % bytes.count
    let value = input.byte()
    guard runByteCount > 0 else { return bytes[offset] ^= value }
    for position in offset..<min(offset + runByteCount, bytes.count) { bytes[position] = value }
  }

  private mutating func replay(_ choice: Int) {
    if !records.isEmpty { bytes += records[choice % records.count] }
  }

  /// Makes the chain right again over whatever stands in the journal.
  private mutating func chainAnew() {
    guard bytes.count >= 64 else { return }
    chain = Primitives.sip(key: KnownStore.chainKey, Array(bytes[..<48]))
    bytes.replaceSubrange(48..<64, with: chain)
    number = 0
    var offset = 64
    while offset + 88 <= bytes.count {
      let end = offset + 48 + Int(bytes.integer(at: offset, byteCount: 4))
      guard end >= offset + 88, end <= bytes.count else { return }
      chain = Primitives.sip(
        key: KnownStore.chainKey, chain + bytes[offset..<offset + 32] + bytes[end - 16..<end])
      bytes.replaceSubrange(offset + 32..<offset + 48, with: chain)
      number = bytes.integer(at: offset + 8, byteCount: 8)
      offset = end
    }
  }
}
