import Glibc

/// One part of a name: any text of 1 to 4,096 bytes of UTF-8.
///
/// Compared byte for byte. Swift's `String` considers the composed and the decomposed "é" equal; a
/// store, which sees bytes, must not.
package struct Name: Hashable, Sendable, Comparable {
  /// Inlined, because it bounds the lengths of every record that is read.
  @inlinable package static var maximumByteCount: Int { 4096 }

  package let text: String
  /// Whether the text is ASCII: such texts are ordered by their bytes, and Swift compares them
  /// several times as fast.
  private let isASCII: Bool

  /// Makes a name.
  ///
  /// - Parameters:
  ///   - text: The name.
  ///   - part: The part that it names, for the error: "service name", "item identifier".
  /// - Throws: `invalidName` when the text is empty or too long.
  package init(_ text: String, as part: String) throws(StoreError) {
    let byteCount = text.utf8.count
    guard byteCount > 0 else {
      throw StoreError(
        .invalidName, store: "name", reason: "the \(part) is empty",
        remedy: "Give one of 1 to \(Self.maximumByteCount) bytes")
    }
    guard byteCount <= Self.maximumByteCount else {
      throw StoreError(
        .invalidName, store: "name", reason: "the \(part) has \(byteCount) bytes",
        remedy: "Give one of 1 to \(Self.maximumByteCount) bytes")
    }
    // A string from elsewhere may be stored in a foreign or lazily decoded form.
    var text = text
    text.makeContiguousUTF8()
    self.text = text
    var bytes = text.utf8Span
    isASCII = bytes.checkForASCII()
  }

  /// Makes a name from another one, which may become longer than a name of an item.
  init(prefix: String, _ name: Name) {
    text = prefix + name.text
    isASCII = name.isASCII
  }

  /// Makes a name that may be absent.
  ///
  /// - Throws: As ``init(_:as:)-(String,String)``.
  init?(_ text: String?, as part: String) throws(StoreError) {
    guard let text else { return nil }
    try self.init(text, as: part)
  }

  package static func == (left: Name, right: Name) -> Bool {
    left.isASCII && right.isASCII
      ? left.text == right.text
      : left.text.utf8.count == right.text.utf8.count && left.order(beside: right) == 0
  }

  package static func < (left: Name, right: Name) -> Bool {
    left.isASCII && right.isASCII ? left.text < right.text : left.order(beside: right) < 0
  }

  /// Returns how many bytes, up to a number, are at the beginning of this name and of another.
  func sharedByteCount(_ other: Name, atMost largest: Int) -> Int {
    let (bytes, others) = (text.utf8.span, other.text.utf8.span)
    let largest = min(largest, bytes.count, others.count)
    var count = 0
    while count < largest, bytes[count] == others[count] { count += 1 }
    return count
  }

  /// Returns eight bytes as a number that orders as they do; zeros follow the end of the name.
  func eightBytes(from start: Int) -> UInt64 {
    let bytes = text.utf8.span
    var number: UInt64 = 0
    for position in start..<start + 8 {
      number = number << 8 | (position < bytes.count ? UInt64(bytes[position]) : 0)
    }
    return number
  }

  /// Compares byte for byte: below zero when this name comes before the other, zero when they are
  /// equal, above zero when it comes after it.
  func order(beside other: Name) -> Int {
    let (own, others) = (text.utf8, other.text.utf8)
    let (bytes, otherBytes) = (own.span, others.span)
    let order = unsafe bytes.withUnsafeBytes { bytes in
      unsafe otherBytes.withUnsafeBytes { otherBytes in
        guard let start = bytes.baseAddress, let other = otherBytes.baseAddress else {
          return 0
        }
        return unsafe Int(memcmp(start, other, min(bytes.count, otherBytes.count)))
      }
    }
    return order == 0 ? bytes.count - otherBytes.count : order
  }

  package func hash(into hasher: inout Hasher) {
    // Texts with the same bytes are equal as strings, and have the same hash.
    hasher.combine(text)
  }
}
