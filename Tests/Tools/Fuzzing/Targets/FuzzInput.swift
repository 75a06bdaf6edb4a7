/// An input that is consumed from front to back; zeros follow its end.
package struct FuzzInput {
  private var rest: ArraySlice<UInt8>

  package init(_ bytes: [UInt8]) {
    rest = bytes[...]
  }

  package var isEmpty: Bool { rest.isEmpty }

  package mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

  /// Takes two bytes, little-endian.
  package mutating func word() -> Int { Int(byte()) | Int(byte()) << 8 }

  /// Takes `count` bytes, or the rest if there are fewer.
  package mutating func bytes(_ count: Int) -> [UInt8] {
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }

  /// Takes all remaining bytes.
  package mutating func remaining() -> [UInt8] {
    defer { rest = [] }
    return Array(rest)
  }

  /// Takes the bytes up to a separator and skips the separator.
  package mutating func bytes(upTo separator: UInt8) -> [UInt8] {
    let part = Array(rest.prefix { $0 != separator })
    rest = rest.dropFirst(part.count + 1)
    return part
  }
}
