import CSessionToolsSodium

/// BLAKE2b of any length, without the library under test.
enum Blake2b {
  static func hash(_ bytes: [UInt8], byteCount: Int, key: [UInt8] = []) -> [UInt8] {
    var out = [UInt8](repeating: 0, count: byteCount)
    _ = unsafe crypto_generichash(
      &out, byteCount, bytes, UInt64(bytes.count), key.isEmpty ? nil : key, key.count)
    return out
  }

  static func hash32(_ bytes: [UInt8]) -> [UInt8] { hash(bytes, byteCount: 32) }

  /// Computes the hash with a salt and a personalization of 16 bytes each.
  static func hash(
    _ bytes: [UInt8], byteCount: Int, key: [UInt8], salt: [UInt8], personal: [UInt8]
  ) -> [UInt8] {
    precondition(salt.count == 16 && personal.count == 16, "16 bytes each")
    var out = [UInt8](repeating: 0, count: byteCount)
    _ = unsafe crypto_generichash_blake2b_salt_personal(
      &out, byteCount, bytes, UInt64(bytes.count), key, key.count, salt, personal)
    return out
  }
}
