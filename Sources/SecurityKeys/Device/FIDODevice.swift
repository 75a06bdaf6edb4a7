import CSessionToolsFIDO2
import Foundation
import SecretStores

/// A security key that is plugged in, open; only this file and that of ``FIDOError`` call libfido2.
///
/// One thread uses it, and another may call ``cancel()``, which only sends the key a message: this
/// makes the unchecked conformance correct.
@safe final class FIDODevice: @unchecked Sendable {
  /// The relying party that credentials are made for.
  ///
  /// No web site can ask a key for them, because no site has a name that ends in "invalid"
  /// (RFC 6761, 6.4).
  private static let relyingParty = "session-tools.invalid"
  /// How many keys are listed at most.
  private static let maximumCount = 64
  /// How long a key may take to answer when it does not wait for a person.
  private static let answerTimeout = Duration.seconds(5)
  static let secretByteCount = 32

  /// Where a key is plugged in.
  struct Place {
    let path: String
    /// The name that the key has for people.
    let product: String
  }

  /// How a key is asked to verify its person, beside the touch.
  enum Verification {
    case none
    /// By the key's own reader.
    case reader
    case pin(SecretBytes)
  }

  let place: Place
  private let device: OpaquePointer
  private let traits: Traits

  /// What a key says of itself.
  private struct Traits {
    /// Whether it computes secrets (the extension hmac-secret).
    var supportsSecrets = false
    /// Whether it makes credentials without verifying its person, also when it could.
    var makesUnverifiedCredentials = false
  }

  /// Lists the keys that are plugged in and that this process may open.
  ///
  /// - Throws: An error of libfido2 when the devices cannot be listed.
  static func places() throws(FIDOError) -> [Place] {
    fido_init(0)
    var list = unsafe fido_dev_info_new(maximumCount)
    guard unsafe list != nil else { throw .internalFailure }
    defer { unsafe fido_dev_info_free(&list, maximumCount) }
    var count = 0
    try FIDOError.check(unsafe fido_dev_info_manifest(list, maximumCount, &count))
    return (0..<count).compactMap { position in
      guard let entry = unsafe fido_dev_info_ptr(list, position),
        let path = unsafe fido_dev_info_path(entry)
      else { return nil }
      let product = unsafe text(fido_dev_info_product_string(entry)) ?? ""
      return unsafe Place(
        path: String(cString: path), product: product.isEmpty ? "security key" : product)
    }
  }

  /// Opens a key, which takes some milliseconds.
  ///
  /// - Throws: An error of libfido2.
  init(_ place: Place) throws(FIDOError) {
    // Of each thread.
    fido_init(0)
    guard let device = unsafe fido_dev_new() else { throw .internalFailure }
    var owned: OpaquePointer? = unsafe device
    do throws(FIDOError) {
      try FIDOError.check(unsafe fido_dev_set_timeout(device, Self.answerTimeout.milliseconds))
      try FIDOError.check(unsafe fido_dev_open(device, place.path))
      traits = unsafe fido_dev_is_fido2(device) ? try Self.traits(of: device) : Traits()
    } catch {
      unsafe fido_dev_close(device)
      unsafe fido_dev_free(&owned)
      throw error
    }
    unsafe self.device = device
    self.place = place
  }

  deinit {
    var owned: OpaquePointer? = unsafe device
    unsafe fido_dev_close(device)
    unsafe fido_dev_free(&owned)
  }

  private static func traits(of device: OpaquePointer) throws(FIDOError) -> Traits {
    var info = unsafe fido_cbor_info_new()
    guard unsafe info != nil else { throw .internalFailure }
    defer { unsafe fido_cbor_info_free(&info) }
    try FIDOError.check(unsafe fido_dev_get_cbor_info(device, info))
    var traits = Traits()
    for position in 0..<(unsafe fido_cbor_info_extensions_len(info)) {
      let name = unsafe fido_cbor_info_extensions_ptr(info)?[position]
      if unsafe text(name) == "hmac-secret" { traits.supportsSecrets = true }
    }
    for position in 0..<(unsafe fido_cbor_info_options_len(info)) {
      let name = unsafe fido_cbor_info_options_name_ptr(info)?[position]
      let isSet = unsafe fido_cbor_info_options_value_ptr(info)?[position] ?? false
      if unsafe text(name) == "makeCredUvNotRqd" { traits.makesUnverifiedCredentials = isSet }
    }
    return traits
  }

  private static func text(_ characters: UnsafePointer<CChar>?) -> String? {
    unsafe characters.map { unsafe String(cString: $0) }
  }

  /// Whether the key computes secrets (the extension hmac-secret).
  var supportsSecrets: Bool { traits.supportsSecrets }
  /// Whether the key makes a credential only for the person whom it verified.
  var verifiesForCredentials: Bool {
    (hasPIN || hasReader) && !traits.makesUnverifiedCredentials
  }
  /// Whether a PIN was set on the key.
  var hasPIN: Bool { unsafe fido_dev_has_pin(device) }
  /// Whether the key has a reader of its own, and knows a finger.
  var hasReader: Bool { unsafe fido_dev_has_uv(device) }

  /// Returns how many wrong PINs the key still accepts.
  ///
  /// - Throws: An error of libfido2.
  func triesLeft() throws(FIDOError) -> Int {
    var count: Int32 = 0
    try FIDOError.check(unsafe fido_dev_set_timeout(device, Self.answerTimeout.milliseconds))
    try FIDOError.check(unsafe fido_dev_get_retry_count(device, &count))
    return Int(count)
  }

  /// Orders the key to stop waiting for its person; from any thread.
  ///
  /// It has no effect when the key is not waiting.
  func cancel() {
    // A key that was unplugged waits for no one.
    unsafe _ = fido_dev_cancel(device)
  }

  /// Makes a credential that the key does not store, and returns its ID; the key waits for a touch.
  ///
  /// - Throws: An error of libfido2.
  func makeCredential(
    _ verification: Verification, timeout: Duration
  ) throws(FIDOError) -> [UInt8] {
    var credential = unsafe fido_cred_new()
    guard let made = unsafe credential else { throw .internalFailure }
    defer { unsafe fido_cred_free(&credential) }
    let (challenge, user) = (Self.randomBytes(32), Self.randomBytes(32))
    try FIDOError.check(unsafe fido_cred_set_type(made, COSE_ES256))
    try FIDOError.check(
      unsafe fido_cred_set_clientdata_hash(made, challenge, challenge.count))
    try FIDOError.check(unsafe fido_cred_set_rp(made, Self.relyingParty, "SessionTools"))
    try FIDOError.check(unsafe fido_cred_set_user(made, user, user.count, "store", nil, nil))
    try FIDOError.check(unsafe fido_cred_set_extensions(made, FIDO_EXT_HMAC_SECRET))
    try FIDOError.check(unsafe fido_cred_set_rk(made, FIDO_OPT_FALSE))
    if case .reader = verification {
      try FIDOError.check(unsafe fido_cred_set_uv(made, FIDO_OPT_TRUE))
    }
    try unsafe ask(verification, timeout) { pin in unsafe fido_dev_make_cred(device, made, pin) }
    let byteCount = unsafe fido_cred_id_len(made)
    guard let identifier = unsafe fido_cred_id_ptr(made) else { return [] }
    return unsafe Array(UnsafeBufferPointer(start: identifier, count: byteCount))
  }

  /// Whether a key made a credential.
  enum Knowledge {
    case known
    case unknown
    /// It says so only after it verified its person.
    case secret
  }

  /// Asks the key whether it made a credential; needs no touch.
  ///
  /// - Throws: An error of libfido2.
  func knowledge(of credential: [UInt8]) throws(FIDOError) -> Knowledge {
    var assertion = try unsafe Self.assertion(for: credential)
    defer { unsafe fido_assert_free(&assertion) }
    try FIDOError.check(unsafe fido_assert_set_up(assertion, FIDO_OPT_FALSE))
    do throws(FIDOError) {
      try unsafe ask(.none, Self.answerTimeout) { pin in
        unsafe fido_dev_get_assert(device, assertion, pin)
      }
      return .known
    } catch {
      switch error {
      case .noCredentials: return .unknown
      case .pinRequired, .unauthorized: return .secret
      // It was not waiting for a person.
      case .personTooSlow: throw .notReceived
      default: throw error
      }
    }
  }

  /// What a key computed, and how it was asked.
  struct Answer {
    let secret: SecretBytes
    let isTouched: Bool
    let isVerified: Bool
  }

  /// Computes the secret of a credential and a salt; the key waits for a touch.
  ///
  /// - Throws: An error of libfido2.
  func secret(
    of credential: [UInt8], salt: [UInt8], _ verification: Verification, timeout: Duration
  ) throws(FIDOError) -> Answer {
    var assertion = try unsafe Self.assertion(for: credential)
    // libfido2 wipes the secret.
    defer { unsafe fido_assert_free(&assertion) }
    try FIDOError.check(unsafe fido_assert_set_extensions(assertion, FIDO_EXT_HMAC_SECRET))
    try FIDOError.check(unsafe fido_assert_set_hmac_salt(assertion, salt, salt.count))
    if case .reader = verification {
      try FIDOError.check(unsafe fido_assert_set_uv(assertion, FIDO_OPT_TRUE))
    }
    try unsafe ask(verification, timeout) { pin in
      unsafe fido_dev_get_assert(device, assertion, pin)
    }
    let flags = Int32(unsafe fido_assert_flags(assertion, 0))
    let bytes = unsafe UnsafeRawBufferPointer(
      start: fido_assert_hmac_secret_ptr(assertion, 0),
      count: fido_assert_hmac_secret_len(assertion, 0))
    return Answer(
      secret: unsafe SecretBytes(bytes), isTouched: flags & CTAP_AUTHDATA_USER_PRESENT != 0,
      isVerified: flags & CTAP_AUTHDATA_USER_VERIFIED != 0)
  }

  private static func assertion(for credential: [UInt8]) throws(FIDOError) -> OpaquePointer? {
    var assertion = unsafe fido_assert_new()
    guard let made = unsafe assertion else { throw .internalFailure }
    let challenge = randomBytes(32)
    do throws(FIDOError) {
      try FIDOError.check(unsafe fido_assert_set_rp(made, relyingParty))
      try FIDOError.check(
        unsafe fido_assert_set_clientdata_hash(made, challenge, challenge.count))
      try FIDOError.check(unsafe fido_assert_allow_cred(made, credential, credential.count))
    } catch {
      unsafe fido_assert_free(&assertion)
      throw error
    }
    return unsafe made
  }

  /// Calls a function that takes a PIN, within a time; the key then stops waiting for its person.
  private func ask(
    _ verification: Verification, _ timeout: Duration,
    _ call: (UnsafePointer<CChar>?) -> Int32
  ) throws(FIDOError) {
    try FIDOError.check(unsafe fido_dev_set_timeout(device, timeout.milliseconds))
    let start = ContinuousClock.now
    let code: Int32
    if case .pin(let pin) = verification {
      // Zeros behind it end the string.
      let text = ByteBuffer(byteCount: pin.byteCount + 1, isSecret: true)
      text.copy(pin, to: 0)
      code = unsafe call(
        text.pointer(to: 0..<text.byteCount).assumingMemoryBound(to: CChar.self))
    } else {
      code = call(nil)
    }
    guard code == FIDO_ERR_RX, ContinuousClock.now - start >= timeout else {
      return try FIDOError.check(code)
    }
    // Otherwise it would blink for longer.
    cancel()
    throw .personTooSlow
  }

  /// Returns random bytes of the system's.
  static func randomBytes(_ count: Int) -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    return (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
  }
}

extension Duration {
  /// The duration as libfido2 takes it: -1 would mean to wait forever.
  package var milliseconds: Int32 {
    let largest = Duration.milliseconds(Int64(Int32.max))
    let components = min(max(self, .zero), largest).components
    return Int32(components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000)
  }
}
