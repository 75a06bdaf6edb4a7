import SealedStore
import SecretStores

extension SecurityKey {
  /// Computes the key of a slot with the security key that made it.
  ///
  /// - Throws: As ``wrappingKey(for:)``.
  func key(for slot: SecurityKeySlot) throws(StoreError) -> WrappingKey {
    let devices = try FIDODevice.connected(for: slot.credential).devices
    guard let device = devices.first else {
      throw StoreError(
        .keyMissing, store: StoreError.slotName, reason: "its security key is not plugged in",
        remedy: "Plug it in")
    }
    guard devices.count == 1 else {
      // The PIN of one of them would be a wrong one for another.
      throw StoreError(
        .unavailable, store: StoreError.slotName,
        reason: "several security keys are plugged in that may be its key: "
          + devices.map(\.place.product).joined(separator: ", "),
        remedy: "Leave only its key plugged in")
    }
    var verifying = Verifying(
      self, device, label: slot.label.text, name: StoreError.slotName)
    return try slot.wrappingKey(from: secret(of: slot, verifying: &verifying))
  }

  /// Computes the secret of a slot, which is another one when the key has not verified the person
  /// as the slot says.
  func secret(
    of slot: SecurityKeySlot, verifying: inout Verifying
  ) throws(StoreError) -> SecretBytes {
    let device = verifying.device
    let call = { (verification: FIDODevice.Verification) throws(FIDOError) in
      try device.secret(
        of: slot.credential, salt: slot.salt, verification, timeout: self.timeout)
    }
    let answer =
      try slot.isUserVerified ? verifying.verified(call) : verifying.touched(call)
    guard answer.isTouched, answer.isVerified == slot.isUserVerified,
      answer.secret.byteCount == FIDODevice.secretByteCount
    else {
      throw StoreError(
        .unavailable, store: verifying.name,
        reason: "the security key did not answer as it was asked: "
          + (answer.isTouched ? "touched" : "not touched") + ", "
          + (answer.isVerified ? "verified" : "not verified") + ", "
          + "\(answer.secret.byteCount) bytes",
        remedy: "Check its settings: a key that always verifies its person opens no slot that was "
          + "made for a touch alone")
    }
    return answer.secret
  }
}
