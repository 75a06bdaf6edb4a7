/// A security key that is plugged in.
public struct SecurityKeyDevice: Hashable, Sendable {
  /// The path of its device, such as `/dev/hidraw3`, which is another one when it is plugged in
  /// again.
  public let path: String
  /// The name that its maker gave it.
  public let product: String
  /// Whether a PIN was set on it.
  public let hasPIN: Bool
  /// Whether it has a fingerprint reader of its own, and knows a finger.
  public let verifiesItself: Bool
  /// Whether it computes secrets (the extension hmac-secret), without which it opens no store.
  public let supportsSecrets: Bool
}

extension SecurityKeyDevice {
  init(_ device: FIDODevice) {
    path = device.place.path
    product = device.place.product
    hasPIN = device.hasPIN
    verifiesItself = device.hasReader
    supportsSecrets = device.supportsSecrets
  }
}
