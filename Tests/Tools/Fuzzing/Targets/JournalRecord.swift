import SessionToolsBase

/// A record in a journal, parsed as the format's description requires.
struct JournalRecord {
  let range: Range<Int>
  let number: UInt64
  let kind: UInt8
  let tag: [UInt8]
  /// The bytes in front of the chain value, which the chain covers.
  let prefix: [UInt8]
  let chain: [UInt8]
  let name: [UInt8]
  let value: [UInt8]

  /// Parses a record, or returns `nil` unless it is complete and its lengths are possible.
  init?(_ bytes: [UInt8], at offset: Int) {
    guard offset + 232 <= bytes.count else { return nil }
    let nameByteCount = Int(bytes.integer(at: offset, byteCount: 4))
    let valueByteCount = Int(bytes.integer(at: offset + 4, byteCount: 4))
    guard nameByteCount >= 80, Primitives.padded(name: nameByteCount - 16) == nameByteCount - 16,
      valueByteCount >= 80, Primitives.padded(valueByteCount - 16) == valueByteCount - 16,
      nameByteCount <= bytes.count, valueByteCount <= bytes.count
    else { return nil }
    let start = offset + 72
    range = offset..<start + nameByteCount + valueByteCount
    guard range.upperBound <= bytes.count else { return nil }
    number = bytes.integer(at: offset + 8, byteCount: 8)
    prefix = Array(bytes[offset..<offset + 56])
    chain = Array(bytes[offset + 56..<start])
    name = Array(bytes[start..<start + nameByteCount])
    value = Array(bytes[start + nameByteCount..<range.upperBound])
    let kindAndTag = KnownStore.masked(Array(prefix[16..<32]), nonce: Array(prefix[32...]))
    kind = kindAndTag[0]
    tag = Array(kindAndTag[1...])
  }

  var isRemoved: Bool { kind & 1 != 0 }
  var isFirst: Bool { kind & 2 != 0 }
  var isLast: Bool { kind & 4 != 0 }
  /// The tags of both sealed parts.
  var tags: [[UInt8]] { [Array(name.suffix(16)), Array(value.suffix(16))] }

  /// Returns the right chain value after the given one.
  func chain(after chain: [UInt8]) -> [UInt8] {
    JournalBuilder.chain(after: chain, prefix, tags: tags)
  }

  private func open(_ part: [UInt8], key: [UInt8], journal: [UInt8]) -> [UInt8]? {
    Primitives.open(
      part, key: key, nonce: Array(prefix[32...]), binding: journal + prefix[..<32])
  }

  /// Returns the canonical name: empty for a void record, `nil` if the name does not open.
  func canonicalName(journal: [UInt8]) -> [UInt8]? {
    open(name, key: KnownStore.nameKey, journal: journal).flatMap(Self.canonicalName)
  }

  /// Returns the value, or `nil` if it does not open.
  func content(journal: [UInt8]) -> [UInt8]? {
    open(value, key: KnownStore.valueKey, journal: journal).flatMap {
      Self.content(of: $0, isRemoved: isRemoved)
    }
  }

  /// Returns whether both parts open and the tag matches the name.
  func isAuthentic(journal: [UInt8]) -> Bool {
    guard kind < 8, let name = canonicalName(journal: journal), content(journal: journal) != nil
    else { return false }
    return KnownStore.tag(of: name) == tag
  }

  /// Returns the canonical name in a name; it is empty for a void record.
  static func canonicalName(in name: [UInt8]) -> [UInt8]? {
    let byteCount = (name.lastIndex { $0 != 0 } ?? -1) + 1
    if byteCount == 0 { return name.count == 64 ? [] : nil }
    // An identifier may end with zeros.
    for end in byteCount...name.count where Primitives.padded(name: end) == name.count {
      if ItemName(canonicalBytes: Array(name[..<end])) != nil { return Array(name[..<end]) }
    }
    return nil
  }

  /// Returns the value in a plaintext, or `nil` if the plaintext breaks a rule.
  static func content(of sealed: [UInt8], isRemoved: Bool) -> [UInt8]? {
    let byteCount = Int(sealed.integer(at: 0, byteCount: 4))
    guard 4 + byteCount <= sealed.count, sealed[(4 + byteCount)...].allSatisfy({ $0 == 0 }),
      isRemoved ? byteCount == 0 : Primitives.padded(4 + byteCount) == sealed.count
    else { return nil }
    return Array(sealed[4..<4 + byteCount])
  }
}
