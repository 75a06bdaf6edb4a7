/// The one encoding of a name that stores hash, compare and seal.
///
/// For each of service, access group, install identifier and item identifier, in this order:
/// 0 for absent, or 1 ‖ length (4, little-endian) ‖ UTF-8. Lengths make ("a", "bc") and
/// ("ab", "c") differ.
extension ItemName {
  /// The length of the encoding in bytes.
  package var canonicalByteCount: Int {
    namespace.canonicalBytes.count + 5 + name.text.utf8.count
  }

  /// The encoding.
  package var canonicalBytes: [UInt8] { namespace.canonicalBytes + name.canonicalBytes }

  /// Writes the encoding, ``canonicalByteCount`` bytes.
  package func storeCanonical(in buffer: ByteBuffer, at offset: Int) {
    // Not built as an array, which would be allocated for every name.
    let prefix = namespace.canonicalBytes
    buffer.copy(prefix, to: offset)
    let start = offset + prefix.count
    buffer.store(UInt8(1), at: start)
    buffer.store(UInt32(name.text.utf8.count), at: start + 1)
    buffer.copy(name.text, to: start + 5)
  }

  /// Returns the length of an encoding that is followed by zeros; 0 when there is no encoding.
  ///
  /// Does not check that the encoding is valid.
  package static func canonicalByteCount(in buffer: ByteBuffer, _ range: Range<Int>) -> Int {
    var end = range.lowerBound
    if range.isEmpty || buffer.load(UInt8.self, at: end) == 0 { return 0 }
    for _ in 0..<4 where end < range.upperBound {
      let isPresent = buffer.load(UInt8.self, at: end) != 0
      end += 1
      guard isPresent, end + 4 <= range.upperBound else { continue }
      end += 4 + Int(buffer.load(UInt32.self, at: end))
    }
    return min(end, range.upperBound) - range.lowerBound
  }

  /// Reads an encoding back.
  ///
  /// `nil` unless the bytes are exactly ``canonicalBytes`` of some name.
  package init?(canonicalBytes bytes: [UInt8]) {
    var reader = CanonicalNameReader()
    guard let name = reader.name(in: ByteBuffer(bytes), 0..<bytes.count) else { return nil }
    self = name
  }
}

extension Name {
  /// 1 ‖ length ‖ UTF-8.
  fileprivate var canonicalBytes: [UInt8] {
    let count = UInt32(text.utf8.count)
    return [1] + (0..<4).map { UInt8(truncatingIfNeeded: count >> (8 * $0)) } + text.utf8
  }

  /// Returns the encoding of a part that may be absent.
  static func canonicalBytes(of part: Name?) -> [UInt8] { part?.canonicalBytes ?? [0] }
}

/// A reader of names' encodings, one after the other.
///
/// Most names of a store have the namespace of the name before, which is then reused.
package struct CanonicalNameReader {
  private var last: (encoding: ByteBuffer, namespace: StoreNamespace)?

  package init() {}

  /// Returns the name that a part of a buffer encodes.
  ///
  /// `nil` unless the bytes are exactly ``ItemName/canonicalBytes`` of some name.
  package mutating func name(in buffer: ByteBuffer, _ range: Range<Int>) -> ItemName? {
    var rest = range
    guard let namespace = namespace(in: buffer, &rest),
      let name = Self.part(in: buffer, &rest, as: "item identifier"), let name, rest.isEmpty
    else { return nil }
    return ItemName(name: name, namespace: namespace)
  }

  private mutating func namespace(
    in buffer: ByteBuffer, _ rest: inout Range<Int>
  ) -> StoreNamespace? {
    if let (encoding, namespace) = last, encoding.byteCount <= rest.count {
      let same = rest.lowerBound..<rest.lowerBound + encoding.byteCount
      // No encoding of a namespace is a prefix of another one.
      if buffer.isEqual(same, encoding) {
        rest = same.upperBound..<rest.upperBound
        return namespace
      }
    }
    let start = rest.lowerBound
    guard let service = Self.part(in: buffer, &rest, as: "service name"), let service,
      let group = Self.part(in: buffer, &rest, as: "access group"),
      let install = Self.part(in: buffer, &rest, as: "install identifier")
    else { return nil }
    let namespace = StoreNamespace(service: service, group: group, install: install)
    last = (ByteBuffer(buffer.bytes(start..<rest.lowerBound)), namespace)
    return namespace
  }

  /// Reads one part: `.some(nil)` if it is absent, `nil` if the encoding is invalid.
  private static func part(
    in buffer: ByteBuffer, _ rest: inout Range<Int>, as what: String
  ) -> Name?? {
    guard !rest.isEmpty else { return nil }
    let isPresent = buffer.load(UInt8.self, at: rest.lowerBound)
    rest = rest.lowerBound + 1..<rest.upperBound
    switch isPresent {
    case 0: return .some(nil)
    case 1: break
    default: return nil
    }
    guard rest.count >= 4 else { return nil }
    let byteCount = Int(buffer.load(UInt32.self, at: rest.lowerBound))
    rest = rest.lowerBound + 4..<rest.upperBound
    guard byteCount <= Name.maximumByteCount, byteCount <= rest.count else { return nil }
    let text = rest.lowerBound..<rest.lowerBound + byteCount
    rest = text.upperBound..<rest.upperBound
    // A name that cannot be made means an invalid encoding: the reason does not matter here.
    guard let text = buffer.text(text), let name = try? Name(text, as: what) else { return nil }
    return name
  }
}
