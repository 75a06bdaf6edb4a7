import CSessionToolsGcrypt

/// Message authentication codes (HMAC, RFC 2104) by libgcrypt, and its start.
package enum MessageCode: Sendable {
  case sha1, sha256, sha512

  /// Once, because libgcrypt must not be started on two threads at the same time.
  private static let started: Void = session_tools_gcrypt_start()

  /// Starts libgcrypt, if that was not done yet.
  static func start() { _ = started }

  private var digest: (number: Int32, byteCount: Int) {
    switch self {
    case .sha1: (Int32(GCRY_MD_SHA1.rawValue), 20)
    case .sha256: (Int32(GCRY_MD_SHA256.rawValue), 32)
    case .sha512: (Int32(GCRY_MD_SHA512.rawValue), 64)
    }
  }

  /// Returns the code of a message.
  package func code(of message: [UInt8], key: [UInt8]) -> [UInt8] {
    Self.start()
    let (number, byteCount) = digest
    var handle: gcry_md_hd_t?
    let opening = unsafe gcry_md_open(&handle, number, UInt32(GCRY_MD_FLAG_HMAC.rawValue))
    precondition(opening == 0, "libgcrypt has these digests, and fails only without memory")
    defer { unsafe gcry_md_close(handle) }
    let setting = unsafe gcry_md_setkey(handle, key, key.count)
    precondition(setting == 0, "a key of any length is one")
    unsafe gcry_md_write(handle, message, message.count)
    guard let start = unsafe gcry_md_read(handle, 0) else { preconditionFailure("no digest") }
    return unsafe [UInt8](UnsafeBufferPointer(start: start, count: byteCount))
  }
}
