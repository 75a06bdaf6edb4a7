/// The one encoding of a key that stores hash, compare and seal.
///
/// For each of service, access group, install identifier and item identifier, in this order:
/// 0 for absent, or 1 ‖ length (4, little-endian) ‖ UTF-8. Lengths make ("a", "bc") and
/// ("ab", "c") differ.
extension StoreKey {
  /// The length of the encoding in bytes.
  package var canonicalByteCount: Int {
    5 + namespace.serviceName.text.utf8.count + Self.byteCount(of: namespace.groupName)
      + Self.byteCount(of: namespace.installName) + 5 + name.text.utf8.count
  }

  private static func byteCount(of part: Name?) -> Int {
    part.map { 5 + $0.text.utf8.count } ?? 1
  }

  /// The encoding.
  package var canonicalBytes: [UInt8] {
    let buffer = ByteBuffer(byteCount: canonicalByteCount)
    storeCanonical(in: buffer, at: 0)
    return buffer.bytes(0..<buffer.byteCount)
  }

  /// Writes the encoding, ``canonicalByteCount`` bytes.
  package func storeCanonical(in buffer: ByteBuffer, at offset: Int) {
    // One by one and not as an array, which would be allocated for every key.
    var offset = offset
    Self.store(namespace.serviceName, in: buffer, at: &offset)
    Self.store(namespace.groupName, in: buffer, at: &offset)
    Self.store(namespace.installName, in: buffer, at: &offset)
    Self.store(name, in: buffer, at: &offset)
  }

  private static func store(_ part: Name?, in buffer: ByteBuffer, at offset: inout Int) {
    guard let part else {
      buffer.store(UInt8(0), at: offset)
      offset += 1
      return
    }
    let byteCount = part.text.utf8.count
    buffer.store(UInt8(1), at: offset)
    buffer.store(UInt32(byteCount), at: offset + 1)
    buffer.copy(part.text, to: offset + 5)
    offset += 5 + byteCount
  }

  /// Reads an encoding back.
  ///
  /// `nil` unless the bytes are exactly what ``canonicalBytes`` gives for some key.
  package init?(canonicalBytes bytes: [UInt8]) {
    var rest = bytes[...]
    guard let service = Self.part(of: &rest, as: "service name"), let service,
      let group = Self.part(of: &rest, as: "access group"),
      let install = Self.part(of: &rest, as: "install identifier"),
      let name = Self.part(of: &rest, as: "item identifier"), let name,
      rest.isEmpty
    else { return nil }
    self.init(
      name: name, namespace: Namespace(service: service, group: group, install: install))
  }

  /// `.some(nil)` is an absent part, `nil` an encoding that is none.
  private static func part(of bytes: inout ArraySlice<UInt8>, as what: String) -> Name?? {
    switch bytes.popFirst() {
    case 0: return .some(nil)
    case 1: break
    default: return nil
    }
    var byteCount = 0
    for shift in stride(from: 0, to: 32, by: 8) {
      guard let byte = bytes.popFirst() else { return nil }
      byteCount |= Int(byte) << shift
    }
    guard byteCount <= Name.largestByteCount, byteCount <= bytes.count,
      let text = String(validating: bytes.prefix(byteCount), as: UTF8.self)
    else { return nil }
    bytes.removeFirst(byteCount)
    // A name that cannot be made is an encoding that is none: the reason does not matter here.
    guard let name = try? Name(text, as: what) else { return nil }
    return name
  }
}
