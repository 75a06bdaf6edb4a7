import SessionToolsBase

/// Bytes that may or may not be a canonical name.
enum CanonicalNameTarget {
  static func check(_ bytes: [UInt8]) throws {
    let name = ItemName(canonicalBytes: bytes)
    let parts = parts(of: bytes)
    try require((name != nil) == (parts != nil), "\(parts as Any) is read as \(name as Any)")
    guard let name, let parts else { return }
    try require(name.canonicalBytes == bytes, "the encoding of the key differs")
    try require(name.canonicalByteCount == bytes.count, "the length of the encoding is wrong")
    let space = name.namespace
    let texts = [space.service, space.accessGroup, space.install?.rawValue, name.identifier]
    try require(texts.map { $0.map { Array($0.utf8) } } == parts, "the parts differ: \(texts)")
    let again = try ItemName(
      name.identifier,
      in: StoreNamespace(
        service: space.service, accessGroup: space.accessGroup, install: space.install))
    try require(again == name && again.hashValue == name.hashValue, "a key of these parts differs")
  }

  /// Parses service, group, install and identifier as the format describes them.
  ///
  /// Returns `nil` if the bytes are not a canonical name.
  static func parts(of bytes: [UInt8]) -> [[UInt8]?]? {
    var parts: [[UInt8]?] = []
    var offset = 0
    for isNeeded in [true, false, false, true] {
      guard offset < bytes.count else { return nil }
      let presence = bytes[offset]
      offset += 1
      if presence == 0, !isNeeded {
        parts.append(nil)
        continue
      }
      guard presence == 1, offset + 4 <= bytes.count else { return nil }
      let byteCount = Int(bytes.integer(at: offset, byteCount: 4))
      offset += 4
      guard 1...4096 ~= byteCount, offset + byteCount <= bytes.count else { return nil }
      let part = Array(bytes[offset..<offset + byteCount])
      // Invalid UTF-8 is repaired by this initializer, so the result differs.
      guard String(decoding: part, as: UTF8.self).utf8.elementsEqual(part) else { return nil }
      parts.append(part)
      offset += byteCount
    }
    return offset == bytes.count ? parts : nil
  }
}
