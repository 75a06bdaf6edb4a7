import CSessionToolsGcrypt
import Glibc
import SecretStores

/// The arithmetic of `dh-ietf1024-sha256-aes128-cbc-pkcs7`, by libgcrypt, as libsecret uses it.
///
/// It keeps secrets from who records what the bus carries, and from no one else. Sources: the
/// Secret Service specification, Transfer of Secrets; RFC 2409, 6.2 (the group); RFC 5869 (HKDF).
@safe struct TransferKey: Sendable {
  static let byteCount = 16
  /// The bytes of a public key, and of the secret that two sides share.
  static let publicKeyByteCount = 128

  private let key: [UInt8]

  /// Second Oakley Group.
  private static let prime: [UInt8] = [
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xc9, 0x0f, 0xda, 0xa2, 0x21, 0x68, 0xc2, 0x34,
    0xc4, 0xc6, 0x62, 0x8b, 0x80, 0xdc, 0x1c, 0xd1, 0x29, 0x02, 0x4e, 0x08, 0x8a, 0x67, 0xcc, 0x74,
    0x02, 0x0b, 0xbe, 0xa6, 0x3b, 0x13, 0x9b, 0x22, 0x51, 0x4a, 0x08, 0x79, 0x8e, 0x34, 0x04, 0xdd,
    0xef, 0x95, 0x19, 0xb3, 0xcd, 0x3a, 0x43, 0x1b, 0x30, 0x2b, 0x0a, 0x6d, 0xf2, 0x5f, 0x14, 0x37,
    0x4f, 0xe1, 0x35, 0x6d, 0x6d, 0x51, 0xc2, 0x45, 0xe4, 0x85, 0xb5, 0x76, 0x62, 0x5e, 0x7e, 0xc6,
    0xf4, 0x4c, 0x42, 0xe9, 0xa6, 0x37, 0xed, 0x6b, 0x0b, 0xff, 0x5c, 0xb6, 0xf4, 0x06, 0xb7, 0xed,
    0xee, 0x38, 0x6b, 0xfb, 0x5a, 0x89, 0x9f, 0xa5, 0xae, 0x9f, 0x24, 0x11, 0x7c, 0x4b, 0x1f, 0xe6,
    0x49, 0x28, 0x66, 0x51, 0xec, 0xe6, 0x53, 0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
  ]

  /// Agrees on a key with a client.
  ///
  /// - Parameter other: The client's public key.
  /// - Returns: The key, and the public key for the client; `nil` if the client's is not usable: of
  ///   another length, or outside of 2…p-2, which would make the secret known to all.
  static func agree(with other: [UInt8]) -> (key: TransferKey, publicKey: [UInt8])? {
    MessageCode.start()
    guard (1...publicKeyByteCount).contains(other.count) else { return nil }
    var generator = SystemRandomNumberGenerator()
    let exponent = (0..<publicKeyByteCount).map { _ in UInt8.random(in: 0...255, using: &generator)
    }
    let modulus = unsafe Integer(prime)
    let theirs = unsafe Integer(other)
    let one = unsafe Integer([1])
    let last = unsafe Integer([1])
    unsafe gcry_mpi_sub(last.pointer, modulus.pointer, one.pointer)
    guard unsafe gcry_mpi_cmp(theirs.pointer, one.pointer) > 0,
      unsafe gcry_mpi_cmp(theirs.pointer, last.pointer) < 0
    else { return nil }
    let secret = unsafe Integer(exponent)
    let own = unsafe Integer([2]).raised(to: secret, modulus)
    let shared = unsafe theirs.raised(to: secret, modulus)
    let key = TransferKey(key: derive(from: unsafe shared.bytes(publicKeyByteCount)))
    return (key, unsafe own.bytes(publicKeyByteCount))
  }

  /// HKDF with SHA-256, an empty salt and no information: its first block.
  private static func derive(from secret: [UInt8]) -> [UInt8] {
    let extracted = MessageCode.sha256.code(of: secret, key: [UInt8](repeating: 0, count: 32))
    return Array(MessageCode.sha256.code(of: [1], key: extracted).prefix(byteCount))
  }

  /// Seals bytes with AES-128 in CBC mode, padded as PKCS #7.
  ///
  /// - Returns: The initialization vector, and the sealed bytes.
  func seal(_ value: SecretBytes) -> (vector: [UInt8], sealed: [UInt8]) {
    var generator = SystemRandomNumberGenerator()
    let vector = (0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) }
    let padding = 16 - value.byteCount % 16
    // Sealed in place, so that no copy stays behind.
    var sealed = [UInt8](repeating: UInt8(padding), count: value.byteCount + padding)
    value.withBytes { bytes in
      for position in 0..<bytes.byteCount {
        sealed[position] = unsafe bytes.unsafeLoad(fromByteOffset: position, as: UInt8.self)
      }
    }
    let cipher = unsafe open(vector)
    Self.check(unsafe gcry_cipher_encrypt(cipher, &sealed, sealed.count, nil, 0))
    unsafe gcry_cipher_close(cipher)
    return (vector, sealed)
  }

  /// Opens what a client sealed; `nil` if it is not sealed with this key.
  func open(_ sealed: [UInt8], vector: [UInt8]) -> SecretBytes? {
    guard vector.count == 16, !sealed.isEmpty, sealed.count % 16 == 0 else { return nil }
    var bytes = sealed
    defer {
      unsafe bytes.withUnsafeMutableBytes { bytes in
        if let start = bytes.baseAddress { unsafe explicit_bzero(start, bytes.count) }
      }
    }
    let cipher = unsafe open(vector)
    Self.check(unsafe gcry_cipher_decrypt(cipher, &bytes, bytes.count, nil, 0))
    unsafe gcry_cipher_close(cipher)
    let padding = Int(bytes[bytes.count - 1])
    guard (1...16).contains(padding), bytes.suffix(padding).allSatisfy({ $0 == UInt8(padding) })
    else { return nil }
    return unsafe bytes.withUnsafeBytes { bytes in
      unsafe SecretBytes(UnsafeRawBufferPointer(rebasing: bytes.dropLast(padding)))
    }
  }

  private func open(_ vector: [UInt8]) -> gcry_cipher_hd_t? {
    var handle: gcry_cipher_hd_t?
    Self.check(
      unsafe gcry_cipher_open(
        &handle, Int32(GCRY_CIPHER_AES.rawValue), Int32(GCRY_CIPHER_MODE_CBC.rawValue), 0))
    Self.check(unsafe gcry_cipher_setkey(handle, key, key.count))
    Self.check(unsafe gcry_cipher_setiv(handle, vector, vector.count))
    return unsafe handle
  }

  private static func check(_ error: gcry_error_t) {
    precondition(error == 0, "libgcrypt fails only without memory, or for a key of another length")
  }
}

/// A number of libgcrypt.
@unsafe private final class Integer {
  private(set) var pointer: gcry_mpi_t?

  init(_ bytes: [UInt8]) {
    let error = unsafe gcry_mpi_scan(&pointer, GCRYMPI_FMT_USG, bytes, bytes.count, nil)
    precondition(error == 0, "every row of bytes is a number")
  }

  deinit { unsafe gcry_mpi_release(pointer) }

  func raised(to exponent: Integer, _ modulus: Integer) -> Integer {
    let result = unsafe Integer([0])
    unsafe gcry_mpi_powm(result.pointer, pointer, exponent.pointer, modulus.pointer)
    return unsafe result
  }

  /// Returns the number in a given number of bytes, with zeros in front: KWallet leaves these out,
  /// so that one of 256 of its sessions has another key than the client's.
  func bytes(_ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var written = 0
    let error = unsafe gcry_mpi_print(GCRYMPI_FMT_USG, &bytes, count, &written, pointer)
    precondition(error == 0, "the number has no more bytes than its modulus")
    return [UInt8](repeating: 0, count: count - written) + bytes.prefix(written)
  }
}
