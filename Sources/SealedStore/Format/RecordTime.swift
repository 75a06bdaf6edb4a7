import Foundation
import SecretStores

/// When a record's item was put, hidden in the record's nonce: whole milliseconds since 1970.
///
/// `random 12 ‖ (time 6 ‖ zero 6) ⊕ the first 12 bytes of SIP(mask key, random 12)`. The zeros tell
/// it from the 24 random bytes of a writer that wrote no time, except in one of 2^48 records. The
/// nonces of two records differ unless both are made in one millisecond with the same 96 random
/// bits.
struct RecordTime: Hashable, Sendable {
  private static let randomByteCount = 12
  private static let timeBitCount = 48

  private let milliseconds: UInt64

  /// Takes a time of the system's clock, the nearest one that can be kept.
  init(_ date: Date) {
    let milliseconds = min(
      max(0, (date.timeIntervalSince1970 * 1000).rounded(.down)), 0x1p48 - 1)
    self.milliseconds = UInt64(milliseconds)
  }

  /// Reads the time in a nonce; `nil` when its writer kept none.
  init?(in buffer: ByteBuffer, at nonce: Int, maskKey: KeyBytes) {
    let mask = Self.mask(buffer, at: nonce, maskKey)
    let low = buffer.load(UInt64.self, at: nonce + Self.randomByteCount) ^ mask.low
    let high =
      buffer.load(UInt32.self, at: nonce + Self.randomByteCount + 8)
      ^ UInt32(truncatingIfNeeded: mask.high)
    guard low >> Self.timeBitCount == 0, high == 0 else { return nil }
    milliseconds = low
  }

  /// Writes the time into a nonce of random bytes.
  func store(in buffer: ByteBuffer, at nonce: Int, maskKey: KeyBytes) {
    let mask = Self.mask(buffer, at: nonce, maskKey)
    buffer.store(milliseconds ^ mask.low, at: nonce + Self.randomByteCount)
    buffer.store(
      UInt32(truncatingIfNeeded: mask.high), at: nonce + Self.randomByteCount + 8)
  }

  /// The mask of a kind is of all 24 bytes, so that the two have nothing in common.
  private static func mask(_ buffer: ByteBuffer, at nonce: Int, _ maskKey: KeyBytes) -> Bytes16 {
    Sodium.sipHash(buffer, nonce..<nonce + randomByteCount, key: maskKey)
  }

  var date: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }
}
