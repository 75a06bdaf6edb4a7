#if Hummingbird
import Foundation
import SessionToolsBase

/// A value as it is stored: `format 1 ‖ expiry 8 ‖ JSON`.
///
/// The format is 1. The expiry is in milliseconds since 1970, as a big-endian signed number; the
/// largest one stands for none.
struct ExpiringValue {
  let expiry: Date?
  private let json: Data

  private static let format: UInt8 = 1
  private static let headByteCount = 9

  /// Reads a stored value.
  ///
  /// - Throws: `corrupt` for what no driver has stored.
  init(_ bytes: SecretBytes, of name: ItemName) throws(StoreError) {
    let data = Data(bytes.copyBytes())
    guard data.count >= Self.headByteCount, data[0] == Self.format else {
      throw StoreError(
        .corrupt, store: "\(name)", reason: "this is not a value of Hummingbird's driver",
        remedy: "Give the driver a namespace of its own")
    }
    let milliseconds = Int64(bitPattern: data[1..<9].reduce(0) { $0 << 8 | UInt64($1) })
    expiry = milliseconds == .max ? nil : Date(timeIntervalSince1970: Double(milliseconds) / 1000)
    json = data[Self.headByteCount...]
  }

  /// Returns the bytes of a value.
  ///
  /// - Throws: `unencodable`.
  static func bytes<Value: Codable>(
    of value: Value, expiring expiry: Date?, for name: ItemName
  ) throws(StoreError) -> SecretBytes {
    let milliseconds = expiry.map { Self.milliseconds($0) } ?? .max
    let head = (0..<8).reversed().map { UInt8(truncatingIfNeeded: milliseconds >> ($0 * 8)) }
    return SecretBytes(joining: [
      SecretBytes([format] + head),
      try ItemCoding<Value>.json.bytes(of: value, for: name, encoder: JSONEncoder()),
    ])
  }

  /// Returns whether the value is as if it were absent.
  func hasExpired(at now: Date) -> Bool { expiry.map { $0 < now } ?? false }

  /// Returns the value; `nil` if it is of another type.
  func object<Object: Decodable>(as type: Object.Type) -> Object? {
    // Hummingbird has one error for all reasons, and it says the same.
    try? JSONDecoder().decode(type, from: json)
  }

  private static func milliseconds(_ date: Date) -> Int64 {
    let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
    // Durations of any length are allowed.
    return milliseconds < Double(Int64.max) ? Int64(milliseconds) : .max - 1
  }
}
#endif
