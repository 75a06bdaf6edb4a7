package import SealedStore
package import SecretStores

/// The parameters of a statement in PostgreSQL's binary form, one after the other.
package struct StatementParameters {
  /// The types that statements of this library use, by the numbers that PostgreSQL gave them.
  package enum Kind: UInt32 {
    case bool = 16
    case bytes = 17
    case int8 = 20
    case int2 = 21
    case int4 = 23
    case text = 25
    case transaction = 5069
    case bools = 1000
    case byteStrings = 1001
    case int2s = 1005
    case int4s = 1007
    case int8s = 1016
  }

  package init() {
    // Enough for a read.
    kinds.reserveCapacity(4)
    ranges.reserveCapacity(4)
    bytes.reserveCapacity(128)
  }

  private(set) var kinds: [Kind] = []
  /// The values, behind one byte that gives even an empty value an address.
  private var bytes: [UInt8] = [0]
  /// Where each value is; `nil` for NULL.
  private var ranges: [Range<Int>?] = []

  var count: Int { kinds.count }

  package mutating func append(_ value: Bool) {
    append(.bool) { $0.append(value ? 1 : 0) }
  }

  package mutating func append(_ value: Int16) { append(.int2) { $0.append(bigEndian: value) } }
  package mutating func append(_ value: Int32) { append(.int4) { $0.append(bigEndian: value) } }
  package mutating func append(_ value: Int64) { append(.int8) { $0.append(bigEndian: value) } }
  package mutating func append(_ value: String) { append(.text) { $0 += value.utf8 } }
  package mutating func append(_ value: [UInt8]) { append(.bytes) { $0 += value } }
  package mutating func append(_ value: Bytes16) { append(.bytes) { $0.append(value) } }

  /// Appends the number of a transaction, an `xid8`.
  package mutating func append(transaction: UInt64) {
    append(.transaction) { $0.append(bigEndian: transaction) }
  }

  /// Appends a part of a buffer.
  package mutating func append(_ buffer: ByteBuffer, _ range: Range<Int>) {
    append(.bytes) { bytes in
      unsafe bytes.append(
        contentsOf: UnsafeRawBufferPointer(
          start: buffer.pointer(to: range), count: range.count))
    }
  }

  package mutating func append(_ values: [Bool]) {
    append(.bools, of: .bool, values) { $0.append($1 ? 1 : 0) }
  }

  package mutating func append(_ values: [Int16]) {
    append(.int2s, of: .int2, values) { $0.append(bigEndian: $1) }
  }

  package mutating func append(_ values: [Int32]) {
    append(.int4s, of: .int4, values) { $0.append(bigEndian: $1) }
  }

  package mutating func append(_ values: [Int64]) {
    append(.int8s, of: .int8, values) { $0.append(bigEndian: $1) }
  }

  package mutating func append(_ values: [[UInt8]]) {
    append(.byteStrings, of: .bytes, values) { $0 += $1 }
  }

  package mutating func append(_ values: [Bytes16]) {
    append(.byteStrings, of: .bytes, values) { $0.append($1) }
  }

  package mutating func appendNull(_ kind: Kind) {
    kinds.append(kind)
    ranges.append(nil)
  }

  private mutating func append(_ kind: Kind, _ write: (inout [UInt8]) -> Void) {
    let start = bytes.count
    write(&bytes)
    kinds.append(kind)
    ranges.append(start..<bytes.count)
  }

  /// Appends an array of one dimension: the number of dimensions, whether it has NULLs, the
  /// elements' type, their number, the lowest index, and each element behind its length.
  private mutating func append<Element>(
    _ kind: Kind, of elementKind: Kind, _ elements: [Element],
    _ write: (inout [UInt8], Element) -> Void
  ) {
    append(kind) { bytes in
      bytes.append(bigEndian: Int32(elements.isEmpty ? 0 : 1))
      bytes.append(bigEndian: Int32(0))
      bytes.append(bigEndian: elementKind.rawValue)
      guard !elements.isEmpty else { return }
      bytes.append(bigEndian: Int32(elements.count))
      bytes.append(bigEndian: Int32(1))
      for element in elements {
        let start = bytes.count
        bytes.append(bigEndian: Int32(0))
        write(&bytes, element)
        let length = UInt32(bytes.count - start - 4)
        for offset in 0..<4 {
          bytes[start + offset] = UInt8(truncatingIfNeeded: length >> (24 - 8 * UInt32(offset)))
        }
      }
    }
  }

  /// Calls a closure with the parameters as libpq takes them: values, lengths and formats.
  func withPointers<Result>(
    _ body: ([UnsafePointer<CChar>?], [Int32], [Int32]) -> Result
  ) -> Result {
    unsafe bytes.withUnsafeBytes { memory in
      let start = memory.baseAddress
      let values = unsafe ranges.map { range -> UnsafePointer<CChar>? in
        guard let range, let start = unsafe start else { return nil }
        return unsafe (start + range.lowerBound).assumingMemoryBound(to: CChar.self)
      }
      let lengths = ranges.map { Int32(clamping: $0?.count ?? 0) }
      return unsafe body(values, lengths, Array(repeating: 1, count: count))
    }
  }
}

extension [UInt8] {
  fileprivate mutating func append(_ value: Bytes16) {
    append(bigEndian: value.low.byteSwapped)
    append(bigEndian: value.high.byteSwapped)
  }

  fileprivate mutating func append(bigEndian value: some FixedWidthInteger) {
    unsafe Swift.withUnsafeBytes(of: value.bigEndian) { unsafe append(contentsOf: $0) }
  }
}
