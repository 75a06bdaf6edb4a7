/// The cipher of swift-crypto that seals the items.
enum Algorithm: String {
  case chaChaPoly = "chachapoly"
  case aesGCM = "aesgcm"

  /// The name among the peers.
  var peerName: String { "crypto-\(rawValue)" }

  /// The name in Swift.
  var typeName: String {
    switch self {
    case .chaChaPoly: "ChaChaPoly"
    case .aesGCM: "AES.GCM"
    }
  }

  /// The name in the literature.
  var title: String {
    switch self {
    case .chaChaPoly: "ChaCha20-Poly1305"
    case .aesGCM: "AES-256-GCM"
    }
  }
}
