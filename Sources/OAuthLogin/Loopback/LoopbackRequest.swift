/// The head of a request, read as strictly as RFC 9112 allows, because browsers send no other.
package struct LoopbackRequest: Equatable {
  /// The fault of a request.
  package enum Fault: Error {
    case isTooLong
    case isMalformed
  }

  /// Enough for all cookies of the host: browsers send them whichever port set them.
  package static let maximumByteCount = 32 << 10

  package let method: String
  package let path: String
  package let query: String
  package let host: String

  /// Parses the bytes received, which must be the whole request.
  ///
  /// - Throws: The fault.
  package init(_ bytes: [UInt8]) throws(Fault) {
    guard bytes.count <= Self.maximumByteCount else { throw .isTooLong }
    // Bytes after the empty line would be a body or another request.
    guard Self.end(of: bytes, from: 0) == bytes.count else { throw .isMalformed }
    let lines = Self.lines(bytes.dropLast(4))
    guard let first = lines.first, lines.count <= 100 else { throw .isMalformed }
    let words = first.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 3, ["HTTP/1.1", "HTTP/1.0"].contains(words[2]),
      words[1].hasPrefix("/"), !words[1].contains("#"), !words[0].isEmpty,
      words[0].utf8.allSatisfy({ (0x41...0x5A).contains($0) })
    else { throw .isMalformed }
    let target = words[1].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    method = String(words[0])
    path = String(target[0])
    query = target.count > 1 ? String(target[1]) : ""
    host = try Self.host(lines.dropFirst())
  }

  /// Returns whether reading may stop, given that the first `count` bytes have been searched
  /// already.
  static func mayEnd(_ bytes: [UInt8], after count: Int) -> Bool {
    bytes.count > maximumByteCount || end(of: bytes, from: max(0, count - 3)) != nil
  }

  /// Returns the offset after the empty line.
  private static func end(of bytes: [UInt8], from start: Int) -> Int? {
    let mark: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A]
    guard bytes.count >= start + 4 else { return nil }
    return (start...(bytes.count - 4)).first { bytes[$0..<($0 + 4)].elementsEqual(mark) }
      .map { $0 + 4 }
  }

  private static func lines(_ bytes: ArraySlice<UInt8>) -> [Substring] {
    // A line must not contain a lone carriage return or line feed, or another control character.
    let text = String(decoding: bytes, as: UTF8.self)
    var lines: [Substring] = []
    var rest = text.utf8[...]
    while let position = rest.firstIndex(of: 0x0D) {
      lines.append(Substring(rest[..<position]))
      rest = rest[position...].dropFirst()
      guard rest.popFirst() == 0x0A else { return [] }
    }
    lines.append(Substring(rest))
    let isClean = lines.allSatisfy { line in
      line.utf8.allSatisfy { $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }
    }
    return isClean ? lines : []
  }

  /// Returns the value of the single `Host` field; there must be no body.
  private static func host(_ fields: some Sequence<Substring>) throws(Fault) -> String {
    var host: String?
    for field in fields {
      guard let colon = field.utf8.firstIndex(of: 0x3A), colon > field.startIndex,
        field.utf8[..<colon].allSatisfy({ $0 > 0x20 && $0 < 0x7F })
      else { throw .isMalformed }
      let value = field[field.index(after: colon)...].trimmingBlanks
      switch field[..<colon].lowercased() {
      case "host":
        guard host == nil else { throw .isMalformed }
        host = String(value)
      case "content-length" where value != "0", "transfer-encoding": throw .isMalformed
      default: break
      }
    }
    guard let host else { throw .isMalformed }
    return host
  }
}

extension Substring {
  fileprivate var trimmingBlanks: Substring {
    var text = self
    while let first = text.utf8.first, first == 0x20 || first == 0x09 { text.removeFirst() }
    while let last = text.utf8.last, last == 0x20 || last == 0x09 { text.removeLast() }
    return text
  }
}
