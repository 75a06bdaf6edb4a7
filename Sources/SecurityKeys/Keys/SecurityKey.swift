public import SealedStore
public import SecretStores

/// A key slot that a security key (FIDO2) opens, by a touch and, unless the slot was made
/// otherwise, its PIN or its own fingerprint reader.
///
/// The key computes the slot's 32 bytes from a secret that never leaves it (the extension
/// hmac-secret of CTAP 2.1). A person who has the store's files, or any backup of them, and the
/// account's password cannot open the slot without the key. A person who has the key as well needs
/// its PIN, of which it accepts eight wrong ones. A key can be lost: give every store a second
/// slot. To shut out a lost key, remove its slot, then revoke and keep the others: a revocation
/// throws `keyMissing` while a slot's key is not plugged in.
///
/// ```swift
/// let key = SecurityKey(label: "YubiKey of Ada") { question in
///   dialog.pin(of: question.product, triesLeft: question.triesLeft)
/// } onTouch: {
///   dialog.show("Touch your security key")
/// }
/// let store = try SealedFileStore.open(at: path, key: key)
/// ```
///
/// Its calls block until the person has acted, on the calling thread; call them on a thread that
/// may be blocked, not on one of Swift's pool. The store holds no lock meanwhile.
public struct SecurityKey: KeySource, SlotMaker {
  /// What a new slot needs in addition to the key and a touch.
  public enum Verification: Hashable, Sendable {
    /// The key's PIN or, if it has a reader of its own, a fingerprint.
    case required
    /// Nothing: a person who has the store's files and the key opens the store.
    case touchOnly
  }

  let label: String
  let verification: Verification
  let timeout: Duration
  let pin: @Sendable (SecurityKeyPINQuestion) -> SecretBytes?
  let onTouch: @Sendable () -> Void
  let cancellation = Cancellation()

  /// Makes a source for the security key that is plugged in.
  ///
  /// - Parameters:
  ///   - label: A name for a new slot, such as "YubiKey of Ada", of at most 64 bytes. Anyone who
  ///     can read the store's files may read it.
  ///   - verification: What a new slot needs; an existing one says so itself.
  ///   - timeout: How long the key waits for each touch or finger, 24 days at most.
  ///   - pin: Asks the person for the key's PIN, at most once for each slot, on the calling thread;
  ///     `nil` dismisses the question.
  ///   - onTouch: Called each time before the key waits for a touch or a finger.
  public init(
    label: String = "", verification: Verification = .required, timeout: Duration = .seconds(30),
    pin: @escaping @Sendable (SecurityKeyPINQuestion) -> SecretBytes?,
    onTouch: @escaping @Sendable () -> Void
  ) {
    self.label = label
    self.verification = verification
    self.timeout = timeout
    self.pin = pin
    self.onTouch = onTouch
  }

  /// Ends what this source and its copies are doing, from any thread: those calls and all later
  /// ones throw `cancelled`, whatever else happens to them.
  ///
  /// It does not wait; a key that waits for a touch or a finger notices it within a fraction of a
  /// second, and can be used again. The question for the PIN is the caller's: end it as well.
  public func cancel() {
    cancellation.cancel()
  }

  /// Returns the security keys that are plugged in and that this process may open; takes some
  /// milliseconds for each, and needs no touch.
  ///
  /// - Throws: `accessDenied` when there are some and this process may open none, `unavailable`
  ///   when none of them answers.
  public static func connected() throws(StoreError) -> [SecurityKeyDevice] {
    try connected(deniedAmong: HIDDevices())
  }

  /// Returns the security keys, and looks for those that are denied among some devices.
  package static func connected(
    deniedAmong devices: HIDDevices
  ) throws(StoreError) -> [SecurityKeyDevice] {
    try FIDODevice.connected(deniedAmong: devices).map(SecurityKeyDevice.init)
  }

  /// Returns whether a security key that is plugged in made a slot, or will say so only after its
  /// PIN; needs no touch.
  ///
  /// It is `false` for slots of other kinds.
  ///
  /// - Throws: As ``connected()``.
  public static func isConnected(for slot: KeySlot.Parameters) throws(StoreError) -> Bool {
    guard let slot = SecurityKeySlot(slot) else { return false }
    return try !FIDODevice.connected(for: slot.credential).devices.isEmpty
  }

  /// Returns whether a security key that is plugged in made a slot, and says so without its PIN.
  ///
  /// - Throws: As ``connected()``.
  package static func isMaker(of slot: KeySlot.Parameters) throws(StoreError) -> Bool {
    guard let slot = SecurityKeySlot(slot) else { return false }
    return try FIDODevice.connected(for: slot.credential).areCertain
  }

  /// Computes the key for a slot that a security key opens, or returns `nil` for other slots.
  ///
  /// It asks the keys that are plugged in which of them made the slot, without a touch. Then it
  /// asks that key for exactly what the slot says: a key computes another secret when it has not
  /// verified the person.
  ///
  /// - Throws: `wrongKey` after a wrong PIN or finger, and for what cannot be a PIN: no other slot
  ///   of a security key is tried then, so that opening a store costs one guess. `keyBlocked` when
  ///   the key accepts no PIN, for good or until it is plugged in again; `keyMissing` when the
  ///   slot's key is not plugged in; `promptDismissed` when the person dismissed the question or
  ///   refused on the key, `timedOut` when no one touched the key, `cancelled` after ``cancel()``,
  ///   `invalidKey` when the slot needs a PIN and the key has none or wants another one,
  ///   `accessDenied` when this process may not use the key, and `unavailable` when the key does
  ///   not answer as it should, or several keys are plugged in that may be the slot's.
  public func wrappingKey(for slot: KeySlot.Parameters) throws(StoreError) -> WrappingKey? {
    guard let slot = SecurityKeySlot(slot) else { return nil }
    return try cancellation.ending(StoreError.slotName) { () throws(StoreError) in
      try key(for: slot)
    }
  }

  /// Checks that no two slots are for one credential, so that the slots of a forged header cost one
  /// touch.
  ///
  /// - Throws: `invalidKey` when two are.
  public func checkCost(of slots: [KeySlot.Parameters]) throws(StoreError) {
    let credentials = slots.compactMap { SecurityKeySlot($0)?.credential }
    guard Set(credentials).count == credentials.count else {
      throw StoreError(
        .invalidKey, store: StoreError.slotName,
        reason: "the key was asked for another slot with the same credential, which did not open",
        remedy: "Put header and header.copy back from a backup: this library makes no such slots")
    }
  }

  /// Makes a credential on the security key that is plugged in, and returns a slot for it.
  ///
  /// It takes two touches: the second finds out, before the slot is used, whether the key computes
  /// the same secret again. The key stores nothing, so that any number of slots can be made.
  ///
  /// - Throws: `keyMissing` unless exactly one security key that can do it is plugged in,
  ///   `invalidKey` when a PIN or a finger is required and the key has neither, `invalidName` when
  ///   the label is too long, and as ``wrappingKey(for:)``.
  public func makeSlot() throws(StoreError) -> (parameters: KeySlot.Parameters, key: WrappingKey) {
    try cancellation.ending(Self.name) { () throws(StoreError) in try enroll() }
  }

  /// The name of security keys in errors.
  static let name = "security key"
}

/// A question for the PIN of a security key.
public struct SecurityKeyPINQuestion: Hashable, Sendable {
  /// The label of the key slot, such as "YubiKey of Ada"; empty when it has none.
  public let label: String
  /// The name that the key's maker gave it.
  public let product: String
  /// How many wrong PINs the key still accepts.
  ///
  /// After the last one it refuses every PIN until it is reset, which erases it.
  public let triesLeft: Int

  /// The question in one line, for a person.
  package var text: String {
    "PIN of \(label.isEmpty ? product : label) (\(Self.tries(triesLeft)) left"
      + (triesLeft == 1 ? "; a wrong PIN blocks the key until it is reset, which erases it)" : ")")
  }

  static func tries(_ count: Int) -> String { count == 1 ? "1 try" : "\(count) tries" }
}
