/// One part of a key: any text of 1 to 4,096 bytes of UTF-8.
///
/// Compared byte for byte. Swift's `String` calls the composed and the decomposed "é" equal;
/// a store, which sees bytes, must not.
package struct Name: Hashable, Sendable, Comparable {
  package static let largestByteCount = 4096

  package let text: String

  /// - Parameters:
  ///   - text: The name.
  ///   - part: What it names, for the error: "service name", "item identifier".
  /// - Throws: `invalidName` when it is empty or too long.
  package init(_ text: String, as part: String) throws(StoreError) {
    let byteCount = text.utf8.count
    guard byteCount > 0 else {
      throw StoreError(
        StoreError.invalidName, store: "name", reason: "the \(part) is empty",
        remedy: "Give one of 1 to \(Self.largestByteCount) bytes")
    }
    guard byteCount <= Self.largestByteCount else {
      throw StoreError(
        StoreError.invalidName, store: "name", reason: "the \(part) has \(byteCount) bytes",
        remedy: "Give one of 1 to \(Self.largestByteCount) bytes")
    }
    // A string that came from elsewhere may be stored in a foreign or lazily decoded form.
    var text = text
    text.makeContiguousUTF8()
    self.text = text
  }

  package static func == (left: Name, right: Name) -> Bool {
    left.text.utf8.elementsEqual(right.text.utf8)
  }

  package static func < (left: Name, right: Name) -> Bool {
    left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
  }

  package func hash(into hasher: inout Hasher) {
    for byte in text.utf8 {
      hasher.combine(byte)
    }
    hasher.combine(UInt8(0xFF))
  }
}
