import CSessionToolsSodium
package import SecretStores

/// A thin, total wrapper around libsodium.
///
/// In this module, only the files of this folder call libsodium.
///
/// The format fixes all sizes, so every function here checks them once; keys and buffers are types
/// that know the size of their memory.
package enum Sodium {
  package static let nonceByteCount = 24
  package static let tagByteCount = 16
  package static let keyByteCount = 32

  /// Whether the library found what it needs, above all a source of randomness.
  static let isReady: Bool = sodium_init() >= 0

  /// The library's version, such as "1.0.18".
  static var version: String { unsafe String(cString: sodium_version_string()) }

  /// Overwrites the stack below the caller, and the registers that calls may have left a key in.
  static func wipeStack(byteCount: Int) {
    sodium_stackzero(byteCount)
    VectorRegisters.clear()
  }

  /// Fills a range with random bytes.
  static func fillRandomly(_ buffer: ByteBuffer, _ range: Range<Int>) {
    precondition(isReady, "libsodium found no source of randomness")
    unsafe randombytes_buf(buffer.pointer(to: range), range.count)
  }

  /// Seals in place with XChaCha20-Poly1305.
  ///
  /// - Parameters:
  ///   - buffer: The buffer with the message and the nonce.
  ///   - message: The range of the plaintext and of 16 more bytes for the tag.
  ///   - nonce: The range of the nonce, 24 bytes.
  ///   - associatedData: The associated data, which the sealing binds.
  ///   - key: 32 bytes.
  package static func seal(
    _ buffer: ByteBuffer, _ message: Range<Int>, nonce: Range<Int>, associatedData: ByteBuffer,
    key: KeyBytes
  ) {
    precondition(nonce.count == nonceByteCount && message.count >= tagByteCount, "room for a tag")
    let data = unsafe associatedData.pointer(to: 0..<associatedData.byteCount)
    let text = unsafe buffer.pointer(to: message).assumingMemoryBound(to: UInt8.self)
    // In place is allowed (libsodium: "both buffers can overlap"), and this sealing cannot fail.
    _ = unsafe crypto_aead_xchacha20poly1305_ietf_encrypt(
      text, nil, text, UInt64(message.count - tagByteCount),
      data.assumingMemoryBound(to: UInt8.self), UInt64(associatedData.byteCount), nil,
      buffer.pointer(to: nonce).assumingMemoryBound(to: UInt8.self), key.pointer)
  }

  /// Opens a message that ``seal(_:_:nonce:associatedData:key:)`` sealed.
  ///
  /// - Parameters:
  ///   - buffer: The buffer with the message and the nonce.
  ///   - message: The range of the sealed message.
  ///   - nonce: The range of the nonce, 24 bytes.
  ///   - associatedData: The buffer with the associated data.
  ///   - dataRange: The range of the associated data in its buffer.
  ///   - key: 32 bytes.
  ///   - target: Where the plaintext is written; in place by default.
  /// - Returns: `false` when the message was not sealed with this key and associated data; the
  ///   contents of the target are useless then.
  package static func open(
    _ buffer: ByteBuffer, _ message: Range<Int>, nonce: Range<Int>, associatedData: ByteBuffer,
    _ dataRange: Range<Int>, key: KeyBytes, into target: (buffer: ByteBuffer, offset: Int)? = nil
  ) -> Bool {
    guard nonce.count == nonceByteCount, message.count >= tagByteCount else { return false }
    let (other, start) = target ?? (buffer, message.lowerBound)
    let plaintext = unsafe other.pointer(to: start..<start + message.count - tagByteCount)
    let data = unsafe associatedData.pointer(to: dataRange)
    let text = unsafe buffer.pointer(to: message).assumingMemoryBound(to: UInt8.self)
    return unsafe crypto_aead_xchacha20poly1305_ietf_decrypt(
      plaintext.assumingMemoryBound(to: UInt8.self), nil, nil, text, UInt64(message.count),
      data.assumingMemoryBound(to: UInt8.self), UInt64(dataRange.count),
      buffer.pointer(to: nonce).assumingMemoryBound(to: UInt8.self), key.pointer) == 0
  }

  /// Seals a key or a test vector, laid out as `nonce 24 ‖ plaintext ‖ room for the tag 16`.
  package static func seal(
    _ buffer: ByteBuffer, _ range: Range<Int>, associatedData: ByteBuffer, key: KeyBytes
  ) {
    let start = range.lowerBound + nonceByteCount
    seal(
      buffer, start..<range.upperBound, nonce: range.lowerBound..<start,
      associatedData: associatedData, key: key)
  }

  /// Opens in place a range that ``seal(_:_:associatedData:key:)`` sealed.
  package static func open(
    _ buffer: ByteBuffer, _ range: Range<Int>, associatedData: ByteBuffer, key: KeyBytes
  ) -> Bool {
    guard range.count >= nonceByteCount + tagByteCount else { return false }
    let start = range.lowerBound + nonceByteCount
    return open(
      buffer, start..<range.upperBound, nonce: range.lowerBound..<start,
      associatedData: associatedData, 0..<associatedData.byteCount, key: key)
  }

  /// Computes BLAKE2b with 16 bytes of output, with or without a key.
  package static func hash16(_ buffer: ByteBuffer, _ range: Range<Int>, key: KeyBytes?) -> Bytes16 {
    var out: (UInt64, UInt64) = (0, 0)
    unsafe withUnsafeMutableBytes(of: &out) { out in
      unsafe hash(buffer, range, key: key, into: out)
    }
    return Bytes16(low: UInt64(littleEndian: out.0), high: UInt64(littleEndian: out.1))
  }

  /// Computes BLAKE2b with 32 bytes of output and a key.
  package static func hash32(_ buffer: ByteBuffer, _ range: Range<Int>, key: KeyBytes) -> [UInt8] {
    var out = [UInt8](repeating: 0, count: 32)
    unsafe out.withUnsafeMutableBytes { out in
      unsafe hash(buffer, range, key: key, into: out)
    }
    return out
  }

  /// Computes BLAKE2b of a whole buffer, with or without a key, into another key.
  static func hash(_ buffer: ByteBuffer, key: KeyBytes?, into target: KeyBytes) {
    let out = unsafe UnsafeMutableRawBufferPointer(
      start: target.mutablePointer, count: target.byteCount)
    unsafe hash(buffer, 0..<buffer.byteCount, key: key, into: out)
    wipeStack()
  }

  private static func hash(
    _ buffer: ByteBuffer, _ range: Range<Int>, key: KeyBytes?,
    into out: UnsafeMutableRawBufferPointer
  ) {
    guard let start = out.baseAddress else { return }
    // This fails only for sizes of output and key that are not used here.
    _ = unsafe crypto_generichash(
      start.assumingMemoryBound(to: UInt8.self), out.count,
      buffer.pointer(to: range).assumingMemoryBound(to: UInt8.self), UInt64(range.count),
      key?.pointer, key == nil ? 0 : keyByteCount)
  }

  /// Computes SipHash-2-4 with 128 bits of output.
  static func sipHash(_ buffer: ByteBuffer, _ range: Range<Int>, key: KeyBytes) -> Bytes16 {
    var out: (UInt64, UInt64) = (0, 0)
    unsafe withUnsafeMutableBytes(of: &out) { out in
      guard let out = out.baseAddress else { return }
      _ = unsafe crypto_shorthash_siphashx24(
        out.assumingMemoryBound(to: UInt8.self),
        buffer.pointer(to: range).assumingMemoryBound(to: UInt8.self), UInt64(range.count),
        key.pointer)
    }
    return Bytes16(low: UInt64(littleEndian: out.0), high: UInt64(littleEndian: out.1))
  }

  /// Derives a key from another (`crypto_kdf_derive_from_key`, context `SSNTOOLS`).
  package static func derive(_ identifier: UInt64, from key: KeyBytes, into target: KeyBytes) {
    let context: [CChar] = Array("SSNTOOLS".utf8CString.prefix(8))
    _ = unsafe crypto_kdf_derive_from_key(
      target.mutablePointer, keyByteCount, identifier, context, key.pointer)
    wipeStack()
  }

  /// Wipes the data that libsodium's calls left on the stack below the caller.
  ///
  /// The last hash in Argon2 is the key, and libsodium 1.0.18 leaves a copy of it there.
  static func wipeStack() {
    wipeStack(byteCount: 16 << 10)
  }

  /// Derives a key with Argon2id 1.3 and one lane; `false` when there is not enough memory for it.
  static func deriveKey(
    passphrase: SecretBytes, salt: [UInt8], passes: UInt32, memoryByteCount: Int,
    into key: KeyBytes
  ) -> Bool {
    precondition(salt.count == Int(crypto_pwhash_SALTBYTES), "a salt has 16 bytes")
    defer { wipeStack() }
    return passphrase.withBytes { passphrase in
      unsafe passphrase.withUnsafeBytes { passphrase in
        guard let text = passphrase.baseAddress else { return false }
        return unsafe crypto_pwhash(
          key.mutablePointer, UInt64(keyByteCount), text.assumingMemoryBound(to: CChar.self),
          UInt64(passphrase.count), salt, UInt64(passes), memoryByteCount,
          crypto_pwhash_ALG_ARGON2ID13) == 0
      }
    }
  }

  /// Compares in constant time.
  package static func isEqual(_ bytes: [UInt8], _ buffer: ByteBuffer, at offset: Int) -> Bool {
    unsafe sodium_memcmp(
      bytes, buffer.pointer(to: offset..<offset + bytes.count), bytes.count) == 0
  }
}
