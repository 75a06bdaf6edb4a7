import SealedStore
import SessionToolsBase

extension SecurityKey {
  /// Computes the key of a slot with the security key that made it.
  ///
  /// - Throws: As ``wrappingKey(for:)``.
  func key(for slot: SecurityKeySlot) throws(StoreError) -> WrappingKey {
    guard let device = try FIDODevice.connected(for: slot.credential) else {
      let label = slot.label.text
      throw StoreError(
        .keyMissing, store: Self.name,
        reason: "the key that opens the slot is not plugged in",
        remedy: "Plug in " + (label.isEmpty ? "the security key" : label)
          + ", or open the store with the key of another slot")
    }
    var verifying = Verifying(self, device, label: slot.label.text)
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
