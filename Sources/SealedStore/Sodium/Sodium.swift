import CSodium
package import SessionToolsBase

/// libsodium, thin and total.
///
/// The only file that calls it, with ``GuardedMemory``.
///
/// Sizes are fixed by the format, so every function here checks them once; keys and buffers
/// are types that know their memory.
package enum Sodium {
  static let nonceByteCount = 24
  static let tagByteCount = 16
  static let keyByteCount = 32

  /// Whether the library found what it needs, above all a source of randomness.
  static let isReady: Bool = sodium_init() >= 0

  /// The library's version, such as "1.0.18".
  static var version: String { unsafe String(cString: sodium_version_string()) }

  /// Fills a range with random bytes.
  static func fillRandomly(_ buffer: ByteBuffer, _ range: Range<Int>) {
    precondition(isReady, "libsodium found no source of randomness")
    unsafe randombytes_buf(buffer.pointer(to: range), range.count)
  }

  /// Seals in place with XChaCha20-Poly1305.
  ///
  /// - Parameters:
  ///   - buffer: Has everything but the key.
  ///   - message: The plaintext and room for the tag of 16 bytes.
  ///   - nonce: Where the 24 bytes of the nonce stand.
  ///   - associatedData: What is bound besides.
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

  /// Opens what ``seal(_:_:nonce:associatedData:key:)`` made.
  ///
  /// - Parameters:
  ///   - buffer: Has everything but the key and the associated data.
  ///   - message: What is sealed.
  ///   - nonce: Where the 24 bytes of the nonce stand.
  ///   - associatedData: What is bound besides.
  ///   - dataRange: Where that stands.
  ///   - key: 32 bytes.
  ///   - target: Where the plaintext goes; in place by default.
  /// - Returns: `false` when it was not sealed with this key and associated data; what is in the
  ///   target is of no use then.
  static func open(
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

  /// Seals a key or a vector that stands as `nonce 24 ‖ plaintext ‖ room for the tag 16`.
  package static func seal(
    _ buffer: ByteBuffer, _ range: Range<Int>, associatedData: ByteBuffer, key: KeyBytes
  ) {
    let start = range.lowerBound + nonceByteCount
    seal(
      buffer, start..<range.upperBound, nonce: range.lowerBound..<start,
      associatedData: associatedData, key: key)
  }

  /// Opens in place what ``seal(_:_:associatedData:key:)`` made.
  package static func open(
    _ buffer: ByteBuffer, _ range: Range<Int>, associatedData: ByteBuffer, key: KeyBytes
  ) -> Bool {
    guard range.count >= nonceByteCount + tagByteCount else { return false }
    let start = range.lowerBound + nonceByteCount
    return open(
      buffer, start..<range.upperBound, nonce: range.lowerBound..<start,
      associatedData: associatedData, 0..<associatedData.byteCount, key: key)
  }

  /// BLAKE2b with 16 bytes out, keyed or not.
  static func hash16(_ buffer: ByteBuffer, _ range: Range<Int>, key: KeyBytes?) -> Bytes16 {
    var out: (UInt64, UInt64) = (0, 0)
    unsafe withUnsafeMutableBytes(of: &out) { out in
      unsafe hash(buffer, range, key: key, into: out)
    }
    return Bytes16(low: UInt64(littleEndian: out.0), high: UInt64(littleEndian: out.1))
  }

  /// BLAKE2b with 32 bytes out, keyed.
  static func hash32(_ buffer: ByteBuffer, _ range: Range<Int>, key: KeyBytes) -> [UInt8] {
    var out = [UInt8](repeating: 0, count: 32)
    unsafe out.withUnsafeMutableBytes { out in
      unsafe hash(buffer, range, key: key, into: out)
    }
    return out
  }

  private static func hash(
    _ buffer: ByteBuffer, _ range: Range<Int>, key: KeyBytes?,
    into out: UnsafeMutableRawBufferPointer
  ) {
    guard let start = out.baseAddress else { return }
    // Fails only for output and key sizes that are not asked for here.
    _ = unsafe crypto_generichash(
      start.assumingMemoryBound(to: UInt8.self), out.count,
      buffer.pointer(to: range).assumingMemoryBound(to: UInt8.self), UInt64(range.count),
      key?.pointer, key == nil ? 0 : keyByteCount)
  }

  /// SipHash-2-4 with 128 bits out.
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
  static func derive(_ identifier: UInt64, from key: KeyBytes, into target: KeyBytes) {
    let context: [CChar] = Array("SSNTOOLS".utf8CString.prefix(8))
    _ = unsafe crypto_kdf_derive_from_key(
      target.mutablePointer, keyByteCount, identifier, context, key.pointer)
    wipeStack()
  }

  /// Wipes what the library's calls left on the stack below the caller.
  ///
  /// The last hash in Argon2 is the key, and 1.0.18 leaves a copy of it there.
  private static func wipeStack() {
    sodium_stackzero(16 << 10)
  }

  /// Argon2id 1.3 with one lane; `false` when there is not enough memory for it.
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
  static func isEqual(_ bytes: [UInt8], _ buffer: ByteBuffer, at offset: Int) -> Bool {
    unsafe sodium_memcmp(
      bytes, buffer.pointer(to: offset..<offset + bytes.count), bytes.count) == 0
  }
}
