import SealedStore
import SecretStores

extension SecurityKey {
  /// Makes a slot for the security key that is plugged in.
  ///
  /// - Throws: As ``makeSlot()``.
  func enroll() throws(StoreError) -> (parameters: KeySlot.Parameters, key: WrappingKey) {
    let label = try SlotLabel(label)
    let device = try Self.onlyDevice()
    // The slot is not there yet, so that errors are about the key.
    var verifying = Verifying(
      self, device, label: label.text,
      name: label.text.isEmpty ? device.place.product : label.text)
    let timeout = timeout
    let call = { (verification: FIDODevice.Verification) throws(FIDOError) in
      try device.makeCredential(verification, timeout: timeout)
    }
    let isVerified = verification == .required || device.verifiesForCredentials
    let credential = try isVerified ? verifying.verified(call) : verifying.touched(call)
    guard SecurityKeySlot.credentialByteCounts ~= credential.count else {
      throw StoreError(
        .unavailable, store: verifying.name,
        reason: "the security key made a credential ID of \(credential.count) bytes, which no slot "
          + "takes", remedy: "Use another security key")
    }
    let slot = SecurityKeySlot(
      isUserVerified: verification == .required,
      salt: FIDODevice.randomBytes(SecurityKeySlot.saltByteCount), credential: credential,
      label: label)
    return (
      slot.parameters, try slot.wrappingKey(from: secret(of: slot, verifying: &verifying))
    )
  }

  /// Opens the one security key that is plugged in.
  private static func onlyDevice() throws(StoreError) -> FIDODevice {
    let connected = try FIDODevice.connected()
    let usable = connected.filter(\.supportsSecrets)
    if usable.count == 1 { return usable[0] }
    let names = (usable.isEmpty ? connected : usable).map(\.place.product).joined(separator: ", ")
    throw StoreError(
      .keyMissing, store: name,
      reason: connected.isEmpty
        ? "no security key is plugged in"
        : usable.isEmpty
          ? "what is plugged in computes no secrets (hmac-secret): \(names)"
          : "several security keys are plugged in: \(names)",
      remedy: usable.isEmpty ? "Plug in a FIDO2 security key" : "Leave only the new one plugged in")
  }
}
