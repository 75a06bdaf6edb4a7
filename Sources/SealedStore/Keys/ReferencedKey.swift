package import SecretStores

/// The key that the reference of a slot stands for.
package enum ReferencedKey: Hashable, Sendable {
  /// A key in the desktop's keyring.
  case keyring
  case securityKey(SecurityKeySlot)
  case recipient(RecipientSlot)
  /// The secret that the desktop's portal keeps for a sandboxed app.
  case portal(PortalSlot)
  /// A key of a scheme, or in a form, that this library does not know.
  case unknown

  package init(_ reference: String) {
    guard let reference = KeyReference(reference) else {
      self = .unknown
      return
    }
    switch reference.scheme {
    case "secret-service": self = .keyring
    case SecurityKeySlot.scheme:
      self = SecurityKeySlot(reference).map(ReferencedKey.securityKey) ?? .unknown
    case RecipientSlot.scheme:
      self = RecipientSlot(reference).map(ReferencedKey.recipient) ?? .unknown
    case PortalSlot.scheme: self = PortalSlot(reference).map(ReferencedKey.portal) ?? .unknown
    default: self = .unknown
    }
  }

  /// The label in the reference; `nil` when such references have none.
  package var label: String? {
    switch self {
    case .securityKey(let slot): slot.label.text
    case .recipient(let slot): slot.label.text
    case .keyring, .portal, .unknown: nil
    }
  }

  /// What someone with the disk needs to open the slot; `nil` if that is not known.
  package var atRest: AtRestProtection? {
    switch self {
    // The desktop keeps the app's secret in the keyring.
    case .keyring, .portal: .keyring
    // A recipient's secret key is not kept with the store, so that no other slot is easier to open
    // because of it.
    case .securityKey, .recipient: .hardware
    case .unknown: nil
    }
  }
}

extension ReferencedKey {
  /// The longest part of an unknown reference in a description, in Unicode's scalars.
  private static let maximumUnknownCount = 24

  /// Returns a description in one line, for people.
  func description(of reference: String) -> String {
    switch self {
    case .keyring: "key kept at \(reference)"
    case .securityKey(let slot):
      "security key ("
        + (slot.label.text.isEmpty ? "" : "\(slot.label.text); ")
        + (slot.isUserVerified ? "PIN or fingerprint, and touch)" : "touch alone)")
    case .recipient(let slot):
      "recipient \(slot.label.text.isEmpty ? "" : "\(slot.label.text) ")(\(slot.shortKey))"
    case .portal: "secret of a sandboxed app, from the desktop's portal"
    case .unknown: "key kept at \(Self.shortened(reference))"
    }
  }

  private static func shortened(_ reference: String) -> String {
    let scalars = reference.unicodeScalars
    guard scalars.count > maximumUnknownCount else { return reference }
    return String(scalars.prefix(maximumUnknownCount)) + "… (\(scalars.count) characters)"
  }
}
