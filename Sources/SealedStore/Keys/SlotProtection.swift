package import SecretStores

extension StoreProtection {
  /// Returns the protection of a sealed store that opens with some slots; the weakest determines
  /// what someone with the disk needs.
  package init(sealedFor slots: [KeySlot]) {
    let ways = slots.map(\.parameters)
    self.init(Self.description(of: ways), atRest: Self.atRest(ways))
  }

  private static func description(of ways: [KeySlot.Parameters?]) -> String {
    let texts = ways.map { $0?.description ?? "a kind of key of a newer version" }
    return "sealed with XChaCha20-Poly1305; opens with " + texts.joined(separator: ", or ")
  }

  /// Returns the protection by the weakest slot; `nil` when a slot is of an unknown kind.
  private static func atRest(_ ways: [KeySlot.Parameters?]) -> AtRestProtection? {
    let protections = ways.map { way -> AtRestProtection? in
      switch way {
      case .rawKey: .keyFile
      case .namedKey(let reference): ReferencedKey(reference).atRest
      case .passphrase: .passphrase
      case nil: nil
      }
    }
    guard !protections.contains(nil) else { return nil }
    return protections.compactMap(\.self).min()
  }
}
