import SessionToolsBase

/// A writer of journals of the known store, valid and invalid ones.
struct JournalBuilder {
  /// The sealed contents of an item's record.
  struct Item: Hashable {
    let name: ItemName
    let value: [UInt8]
  }

  static let names: [ItemName] = {
    let group = "group"
    do {
      let spaces = [
        try StoreNamespace(service: "s"), try StoreNamespace(service: "s", accessGroup: group),
        try StoreNamespace(
          service: "s", accessGroup: group, install: InstallIdentifier(rawValue: "i")),
      ]
      return try spaces.map { try ItemName("a", in: $0) } + [ItemName("b", in: spaces[0])]
    } catch {
      preconditionFailure("\(error)")
    }
  }()

  private(set) var bytes = KnownStore.journalHead()
  private(set) var mark: [UInt8]? = KnownStore.firstMark
  /// All items that were ever sealed.
  private(set) var items: Set<Item> = []
  private var number: UInt64 = 0
  private var version: UInt64 = 0
  private var chain = Array(KnownStore.journalHead().suffix(16))
  private var records: [[UInt8]] = []

  /// A mark that confirms everything.
  var markAtEnd: [UInt8] {
    KnownStore.mark(
      KnownStore.journalIdentifier, byteCount: bytes.count, version: version, chain: chain)
  }

  /// Appends a record as a writer does, with any contents.
  mutating func append(
    name: [UInt8], value: [UInt8], kind: UInt8, tag: [UInt8], numberStep: UInt64 = 1
  ) {
    number &+= numberStep
    // A different nonce for each record, but the same in every run.
    let nonce = Primitives.hash(24, KnownStore.nonce + UInt32(records.count).littleEndianBytes)
    let bound =
      UInt32(name.count + 16).littleEndianBytes + UInt32(value.count + 16).littleEndianBytes
      + number.littleEndianBytes + KnownStore.masked([kind] + tag, nonce: nonce)
    let parts = [(name, KnownStore.nameKey), (value, KnownStore.valueKey)].map { plaintext, key in
      Primitives.sealed(
        plaintext, key: key, nonce: nonce, binding: KnownStore.journalIdentifier + bound)
    }
    chain = Self.chain(after: chain, bound + nonce, tags: parts.map { Array($0.suffix(16)) })
    let record = bound + nonce + chain + parts.joined()
    bytes += record
    records.append(record)
    if kind & 4 != 0 { version &+= 1 }
  }

  /// Returns the chain value of a record.
  static func chain(after chain: [UInt8], _ prefix: [UInt8], tags: [[UInt8]]) -> [UInt8] {
    Primitives.sip(key: KnownStore.chainKey, chain + prefix + tags.joined())
  }

  private mutating func appendItem(
    _ choice: UInt8, valueByteCount: Int, numberStep: UInt64 = 1, mask: UInt8 = 0
  ) {
    let name = Self.names[Int(choice & 3)]
    let kind = choice >> 2 & 7 ^ mask
    let isRemoved = kind & 1 != 0
    // A removal without a name is void.
    let canonicalName = isRemoved && choice & 0x40 != 0 ? [] : name.canonicalBytes
    // A different value each time, so that an old value cannot pass for a new one.
    let value =
      isRemoved ? [] : [UInt8](repeating: UInt8(records.count & 255), count: valueByteCount)
    if !isRemoved { items.insert(Item(name: name, value: value)) }
    append(
      name: canonicalName.filled(to: Primitives.padded(name: canonicalName.count)),
      value: (UInt32(value.count).littleEndianBytes + value).filled(
        to: Primitives.padded(4 + value.count)),
      kind: kind, tag: KnownStore.tag(of: canonicalName), numberStep: numberStep)
  }

  /// Performs one operation from the input, which may be valid or invalid.
  mutating func perform(_ input: inout FuzzInput) {
    let operation = input.byte()
    switch operation & 15 {
    case 0...3: appendItem(input.byte(), valueByteCount: Int(input.byte()))
    // A whole change, without a mark and with one.
    case 4: appendItem(operation >> 4 & 3 | 24, valueByteCount: 1)
    case 5:
      appendItem(operation >> 4 & 3 | 24, valueByteCount: 1)
      mark = markAtEnd
    case 6: mark = markAtEnd
    case 7: forgetMark(operation >> 4)
    case 8:
      let step = UInt64(input.byte()) << UInt64(input.byte() & 63)
      appendItem(operation >> 4 | 24, valueByteCount: 1, numberStep: step)
    case 9: appendItem(operation >> 4 | 24, valueByteCount: 1, mask: input.byte())
    case 10: replay(Int(input.byte()))
    case 11: overwrite(&input, runByteCount: Int(operation >> 4))
    case 12: bytes.removeLast(bytes.count - input.word() % (bytes.count + 1))
    case 13:
      let count = Int(input.byte())
      bytes += input.bytes(count)
    case 14: bytes += [UInt8](repeating: 0, count: 16 * Int(input.byte()))
    default: chainAgain()
    }
  }

  /// Removes the mark, changes it, or replaces it with that of another journal.
  ///
  /// The other journal may or may not be the predecessor of this one.
  private mutating func forgetMark(_ choice: UInt8) {
    guard choice > 0 else { return mark = nil }
    guard choice > 1 else {
      mark?[Int(number & 63)] ^= 1
      return
    }
    let earlier = KnownStore.mark(
      KnownStore.identifier, byteCount: 1000, version: 4, chain: KnownStore.identifier)
    mark = earlier
    guard choice & 1 == 0, bytes.count == KnownStore.headByteCount else { return }
    bytes = KnownStore.journalHead(version: 4, predecessor: earlier)
    chain = Array(bytes.suffix(16))
    // The first change puts the items that there were, and does not count as one of the four.
    version = 3
  }

  /// Changes one byte, or writes a run of equal bytes.
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

  /// Recomputes the chain over the current contents of the journal.
  private mutating func chainAgain() {
    let headByteCount = KnownStore.headByteCount
    guard bytes.count >= headByteCount else { return }
    chain = Primitives.sip(key: KnownStore.chainKey, Array(bytes[..<72]))
    bytes.replaceSubrange(72..<88, with: chain)
    number = 0
    version = bytes.integer(at: 48, byteCount: 8)
    if bytes[56..<72].contains(where: { $0 != 0 }) { version &-= 1 }
    var offset = headByteCount
    while let record = JournalRecord(bytes, at: offset) {
      chain = Self.chain(after: chain, record.prefix, tags: record.tags)
      bytes.replaceSubrange(offset + 56..<offset + 72, with: chain)
      number = record.number
      if record.kind & 4 != 0 { version &+= 1 }
      offset = record.range.upperBound
    }
  }
}

extension Array<UInt8> {
  /// Returns the bytes padded with zeros.
  func filled(to byteCount: Int) -> [UInt8] {
    self + [UInt8](repeating: 0, count: byteCount - count)
  }
}
