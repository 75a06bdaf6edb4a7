import CSessionToolsSodium

/// Keys that anyone can seal for the holder of an X25519 secret key (`crypto_box_seal`).
enum SealedBox {
  static let publicKeyByteCount = 32
  /// The size of a sealed box with a key of 32 bytes in it: the key of one use, tag and key.
  static let byteCount = publicKeyByteCount + Sodium.tagByteCount + Sodium.keyByteCount

  /// Computes the public key of a secret key.
  static func publicKey(of secretKey: KeyBytes) -> [UInt8] {
    var publicKey = [UInt8](repeating: 0, count: publicKeyByteCount)
    // This cannot fail: the base point is not of low order, and the secret key's lowest bits count
    // as zero.
    _ = unsafe crypto_scalarmult_base(&publicKey, secretKey.pointer)
    Sodium.wipeStack()
    return publicKey
  }

  /// Returns whether a key can be sealed for a public key: not if it is of low order, with which
  /// every secret key gives the same shared secret, so that everyone could open the box.
  static func accepts(_ publicKey: [UInt8]) -> Bool {
    guard publicKey.count == publicKeyByteCount else { return false }
    var box = [UInt8](repeating: 0, count: publicKeyByteCount + Sodium.tagByteCount)
    return unsafe crypto_box_seal(&box, nil, 0, publicKey) == 0
  }

  /// Seals a key for the holder of a public key; `nil` when it is not accepted.
  static func seal(_ key: KeyBytes, for publicKey: [UInt8]) -> [UInt8]? {
    precondition(publicKey.count == publicKeyByteCount, "a public key has 32 bytes")
    defer { Sodium.wipeStack() }
    var box = [UInt8](repeating: 0, count: byteCount)
    let result = unsafe crypto_box_seal(
      &box, key.pointer, UInt64(Sodium.keyByteCount), publicKey)
    return result == 0 ? box : nil
  }

  /// Opens a box; `false` when it was not sealed for this key, and the contents of the target are
  /// useless then.
  static func open(
    _ box: [UInt8], publicKey: [UInt8], secretKey: KeyBytes, into key: KeyBytes
  ) -> Bool {
    precondition(publicKey.count == publicKeyByteCount, "a public key has 32 bytes")
    guard box.count == byteCount else { return false }
    defer { Sodium.wipeStack() }
    return unsafe crypto_box_seal_open(
      key.mutablePointer, box, UInt64(box.count), publicKey, secretKey.pointer) == 0
  }
}
