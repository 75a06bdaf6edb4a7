import SessionToolsBase

/// Two names of items that consist of arbitrary texts.
enum NamesTarget {
  static func check(_ bytes: [UInt8]) throws {
    var input = FuzzInput(bytes)
    guard let one = try name(&input), let other = try name(&input) else { return }
    let (parts, others) = (try parts(of: one), try parts(of: other))
    try require((one == other) == (parts == others), "\(one) == \(other) is \(one == other)")
    if one == other { try require(one.hashValue == other.hashValue, "equal, but hashes differ") }
    try require((one < other) == precedes(parts, others), "\(one) and \(other) in wrong order")
    try require((other < one) == precedes(others, parts), "\(other) and \(one) in wrong order")
    let moved = one.moved(to: other.namespace)
    try require(moved.namespace == other.namespace, "moved to a different namespace")
    try require(moved.identifier.utf8.elementsEqual(one.identifier.utf8), "renamed when moved")
    try require(!"\(moved)".isEmpty, "no description")
  }

  /// Makes a name from four texts; a byte in front decides whether the middle two are present.
  ///
  /// Returns `nil` if a part is rightly refused.
  private static func name(_ input: inout FuzzInput) throws -> ItemName? {
    let presence = input.byte()
    // UTF-8 never contains this byte.
    let texts = (0..<4).map { _ in String(decoding: input.bytes(upTo: 0xFF), as: UTF8.self) }
    let group = presence & 1 == 0 ? nil : texts[1]
    let install = presence & 2 == 0 ? nil : texts[2]
    let isAllowed = [texts[0], group, install, texts[3]].allSatisfy {
      $0.map { 1...4096 ~= $0.utf8.count } ?? true
    }
    let name: ItemName
    do throws(StoreError) {
      let namespace = try StoreNamespace(
        service: texts[0], accessGroup: group,
        install: install.map(InstallIdentifier.init(rawValue:)))
      name = try ItemName(texts[3], in: namespace)
    } catch {
      try require(!isAllowed && error.code == .invalidName, "\(texts): \(error)")
      return nil
    }
    try require(isAllowed, "\(texts) was accepted")
    return name
  }

  private static func parts(of name: ItemName) throws -> [[UInt8]?] {
    guard let parts = CanonicalNameTarget.parts(of: name.canonicalBytes) else {
      throw Finding("the encoding of \(name) is invalid")
    }
    return parts
  }

  /// Compares part by part and byte by byte; an absent part comes first.
  private static func precedes(_ one: [[UInt8]?], _ other: [[UInt8]?]) -> Bool {
    for (part, otherPart) in zip(one, other) where part != otherPart {
      guard let part else { return true }
      guard let otherPart else { return false }
      return part.lexicographicallyPrecedes(otherPart)
    }
    return false
  }
}
