import Crypto
import FoundationEssentials

/// Seals and opens values as nonce 12 ‖ ciphertext ‖ tag 16; the identifier is the associated data.
struct Cipher {
  let algorithm: Algorithm
  let key: SymmetricKey

  /// The length of a sealed value.
  static let sealedByteCount = 12 + Item.valueByteCount + 16

  func seal(_ value: Data, for identifier: String) throws(Failure) -> Data {
    let bound = Data(identifier.utf8)
    let sealed: Data?
    do {
      sealed =
        switch algorithm {
        case .chaChaPoly: try ChaChaPoly.seal(value, using: key, authenticating: bound).combined
        case .aesGCM: try AES.GCM.seal(value, using: key, authenticating: bound).combined
        }
    } catch {
      throw .failed(algorithm.typeName, reason: "\(error)")
    }
    // `combined` is nil only if the nonce does not have 12 bytes.
    guard let sealed else { throw .failed(algorithm.typeName, reason: "the nonce is too long") }
    return sealed
  }

  func open(_ sealed: [UInt8], for identifier: String) throws(Failure) -> Data {
    let bound = Data(identifier.utf8)
    do {
      switch algorithm {
      case .chaChaPoly:
        let box = try ChaChaPoly.SealedBox(combined: sealed)
        return try ChaChaPoly.open(box, using: key, authenticating: bound)
      case .aesGCM:
        let box = try AES.GCM.SealedBox(combined: sealed)
        return try AES.GCM.open(box, using: key, authenticating: bound)
      }
    } catch {
      // A changed file, a file of another item and a wrong key cannot be told apart.
      throw .lost(identifier: identifier)
    }
  }
}
