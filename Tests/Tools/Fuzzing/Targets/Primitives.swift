import CSessionToolsSodium

/// The format's cryptography, written from its description and independent of the store's code.
///
/// With it, inputs pass checksums and MACs, and results can be verified.
enum Primitives {
  private static let isReady = sodium_init() >= 0

  /// Computes `HASH-count`.
  static func hash(_ count: Int, key: [UInt8]? = nil, _ data: [UInt8]) -> [UInt8] {
    var out = [UInt8](repeating: 0, count: count)
    _ = unsafe crypto_generichash(
      &out, count, data, UInt64(data.count), key ?? [], key?.count ?? 0)
    return out
  }

  /// Computes `KDF`.
  static func derive(_ identifier: UInt64, from key: [UInt8]) -> [UInt8] {
    precondition(isReady, "libsodium found no source of randomness")
    var out = [UInt8](repeating: 0, count: 32)
    let context = Array("SSNTOOLS".utf8CString.prefix(8))
    _ = unsafe crypto_kdf_derive_from_key(&out, out.count, identifier, context, key)
    return out
  }

  /// Computes `SIP`.
  static func sip(key: [UInt8], _ data: [UInt8]) -> [UInt8] {
    var out = [UInt8](repeating: 0, count: 16)
    _ = unsafe crypto_shorthash_siphashx24(&out, data, UInt64(data.count), key)
    return out
  }

  /// Returns the nonce and the result of `SEAL`.
  static func seal(
    _ plaintext: [UInt8], key: [UInt8], nonce: [UInt8], binding: [UInt8]
  ) -> [UInt8] {
    nonce + sealed(plaintext, key: key, nonce: nonce, binding: binding)
  }

  /// Computes `SEAL`.
  static func sealed(
    _ plaintext: [UInt8], key: [UInt8], nonce: [UInt8], binding: [UInt8]
  ) -> [UInt8] {
    var out = [UInt8](repeating: 0, count: plaintext.count + 16)
    _ = unsafe crypto_aead_xchacha20poly1305_ietf_encrypt(
      &out, nil, plaintext, UInt64(plaintext.count), binding, UInt64(binding.count), nil, nonce,
      key)
    return out
  }

  /// Opens a nonce and sealed bytes; returns `nil` if they are not authentic.
  static func open(_ sealed: [UInt8], key: [UInt8], binding: [UInt8]) -> [UInt8]? {
    guard sealed.count >= 40 else { return nil }
    return open(Array(sealed[24...]), key: key, nonce: Array(sealed[..<24]), binding: binding)
  }

  /// Opens sealed bytes; returns `nil` if they are not authentic.
  static func open(
    _ rest: [UInt8], key: [UInt8], nonce: [UInt8], binding: [UInt8]
  ) -> [UInt8]? {
    var out = [UInt8](repeating: 0, count: rest.count - 16)
    let status = unsafe crypto_aead_xchacha20poly1305_ietf_decrypt(
      &out, nil, nil, rest, UInt64(rest.count), binding, UInt64(binding.count), nonce, key)
    return status == 0 ? out : nil
  }

  /// Returns the padded length of a name.
  static func padded(name byteCount: Int) -> Int {
    max(64, (byteCount + 63) / 64 * 64)
  }

  /// Returns the padded length of a value with its length in front.
  static func padded(_ byteCount: Int) -> Int {
    let length = max(64, byteCount)
    // ⌊log₂ L⌋ and ⌊log₂ E⌋ + 1, by counting.
    var exponent = 0
    while length >> (exponent + 1) > 0 { exponent += 1 }
    var kept = 0
    while exponent >> kept > 0 { kept += 1 }
    let unit = 1 << (exponent - kept)
    return (length + unit - 1) / unit * unit
  }
}

extension FixedWidthInteger {
  /// The little-endian bytes.
  var littleEndianBytes: [UInt8] {
    (0..<Self.bitWidth / 8).map { UInt8(truncatingIfNeeded: self >> (8 * $0)) }
  }
}

extension Array<UInt8> {
  /// Reads a little-endian integer of `byteCount` bytes.
  func integer(at offset: Int, byteCount: Int) -> UInt64 {
    (0..<byteCount).reduce(0) { $0 | UInt64(self[offset + $1]) << (8 * UInt64($1)) }
  }
}
