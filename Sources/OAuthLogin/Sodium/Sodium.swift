import CSessionToolsSodium
import SessionToolsBase

/// A thin wrapper around libsodium; in this module, only the files of this folder call it.
enum Sodium {
  static let keyByteCount = 32
  private static let nonceByteCount = Int(crypto_aead_xchacha20poly1305_ietf_NPUBBYTES)
  private static let tagByteCount = Int(crypto_aead_xchacha20poly1305_ietf_ABYTES)

  static func randomBytes(_ count: Int) -> [UInt8] {
    precondition(sodium_init() >= 0, "libsodium found no source of randomness")
    var bytes = [UInt8](repeating: 0, count: count)
    unsafe randombytes_buf(&bytes, bytes.count)
    return bytes
  }

  static func sha256(_ bytes: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES))
    _ = unsafe crypto_hash_sha256(&digest, bytes, UInt64(bytes.count))
    return digest
  }

  static func wipe(_ bytes: inout [UInt8]) {
    unsafe sodium_memzero(&bytes, bytes.count)
  }

  /// Seals with XChaCha20-Poly1305 under a random nonce, which is long enough to be random under
  /// one key for any number of messages.
  ///
  /// - Parameters:
  ///   - message: The message.
  ///   - associatedData: What the sealing binds.
  ///   - key: 32 bytes.
  /// - Returns: `nonce 24 ‖ ciphertext ‖ tag 16`.
  static func seal(
    _ message: [UInt8], associatedData: [UInt8], key: SecretBytes
  ) -> [UInt8] {
    precondition(key.byteCount == keyByteCount, "a key of 32 bytes")
    let nonce = randomBytes(nonceByteCount)
    var sealed = [UInt8](repeating: 0, count: message.count + tagByteCount)
    key.withBytes { key in
      unsafe key.withUnsafeBytes { key in
        guard let key = key.baseAddress else { return }
        // It fails only for messages of many gigabytes.
        _ = unsafe crypto_aead_xchacha20poly1305_ietf_encrypt(
          &sealed, nil, message, UInt64(message.count), associatedData,
          UInt64(associatedData.count), nil, nonce, key.assumingMemoryBound(to: UInt8.self))
      }
    }
    return nonce + sealed
  }

  /// Opens what ``seal(_:associatedData:key:)`` sealed; `nil` for anything else.
  static func open(
    _ sealed: [UInt8], associatedData: [UInt8], key: SecretBytes
  ) -> [UInt8]? {
    precondition(key.byteCount == keyByteCount, "a key of 32 bytes")
    guard sealed.count >= nonceByteCount + tagByteCount else { return nil }
    let (nonce, text) = (Array(sealed.prefix(nonceByteCount)), sealed.dropFirst(nonceByteCount))
    var message = [UInt8](repeating: 0, count: text.count - tagByteCount)
    let isOpen = key.withBytes { key in
      unsafe key.withUnsafeBytes { key in
        guard let key = key.baseAddress else { return false }
        return unsafe crypto_aead_xchacha20poly1305_ietf_decrypt(
          &message, nil, nil, Array(text), UInt64(text.count), associatedData,
          UInt64(associatedData.count), nonce, key.assumingMemoryBound(to: UInt8.self)) == 0
      }
    }
    return isOpen ? message : nil
  }
}
