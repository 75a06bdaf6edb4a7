import Foundation
import SessionToolsBase

/// The keys that seal pending logins in cookies: `nonce 24 ‖ ciphertext ‖ tag 16` of
/// XChaCha20-Poly1305, in Base64.
struct CookieSealing: Sendable {
  static let keyByteCount = Sodium.keyByteCount

  /// The first one seals, and all of them open.
  let keys: [SecretBytes]
  private let associatedData: [UInt8]

  /// - Parameters:
  ///   - keys: Keys of 32 bytes, at least one.
  ///   - purpose: What a cookie is sealed for; one for anything else does not open.
  init(keys: [SecretBytes], purpose: [String]) {
    self.keys = keys
    // With their lengths, so that no two lists are the same bytes.
    associatedData = purpose.flatMap { Array("\($0.utf8.count):\($0)".utf8) }
  }

  /// - Throws: `invalidConfiguration` if the login cannot be written as JSON.
  func seal(_ login: PendingWebLogin) throws(WebLoginError) -> String {
    do {
      var message = Array(try JSONEncoder().encode(login))
      defer { Sodium.wipe(&message) }
      let sealed = Sodium.seal(message, associatedData: associatedData, key: keys[0])
      return String(decoding: Base64URL.encode(sealed), as: UTF8.self)
    } catch {
      throw WebLoginError(.invalidConfiguration, "the login cannot be written into a cookie")
    }
  }

  /// Opens the value of a cookie; `nil` for anything that these keys did not seal for this purpose.
  func open(_ value: Substring) -> PendingWebLogin? {
    guard value.utf8.count <= LoginCookie.maximumByteCount, let sealed = Base64URL.decode(value)
    else { return nil }
    for key in keys {
      guard var message = Sodium.open(sealed, associatedData: associatedData, key: key) else {
        continue
      }
      defer { Sodium.wipe(&message) }
      // One that opens and cannot be read is of a later version of this library.
      return try? JSONDecoder().decode(PendingWebLogin.self, from: Data(message))
    }
    return nil
  }
}
