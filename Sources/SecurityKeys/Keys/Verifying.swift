import SecretStores

/// What a person shows a security key, while it is asked for one slot.
struct Verifying {
  let key: SecurityKey
  let device: FIDODevice
  /// The label of the slot, for the question.
  let label: String
  /// What errors are about.
  let name: String
  /// How the key verified the person the last time.
  private var verification: FIDODevice.Verification?

  init(_ key: SecurityKey, _ device: FIDODevice, label: String, name: String) {
    self.key = key
    self.device = device
    self.label = label
    self.name = name
  }

  /// Calls the key, which verifies the person by its own reader or, when that fails, by its PIN.
  ///
  /// A second call takes what the person has already typed.
  ///
  /// - Throws: As `SecurityKey.wrappingKey(for:)`.
  mutating func verified<Result>(
    _ call: (FIDODevice.Verification) throws(FIDOError) -> Result
  ) throws(StoreError) -> Result {
    if device.hasReader, verification == nil {
      switch attempt(.reader, call) {
      case .success(let result):
        verification = .reader
        return result
      case .failure(let error):
        guard [.wrongFinger, .readerBlocked, .pinRequired].contains(error), device.hasPIN else {
          throw failure(error)
        }
      }
    }
    if let verification { return try calling(verification, call) }
    let pin = FIDODevice.Verification.pin(try askForPIN())
    let result = try calling(pin, call)
    verification = pin
    return result
  }

  /// Calls the key, which wants no more than a touch.
  ///
  /// - Throws: As `SecurityKey.wrappingKey(for:)`.
  func touched<Result>(
    _ call: (FIDODevice.Verification) throws(FIDOError) -> Result
  ) throws(StoreError) -> Result {
    try calling(.none, call)
  }

  private func calling<Result>(
    _ verification: FIDODevice.Verification,
    _ call: (FIDODevice.Verification) throws(FIDOError) -> Result
  ) throws(StoreError) -> Result {
    switch attempt(verification, call) {
    case .success(let result): return result
    case .failure(let error): throw failure(error)
    }
  }

  private func attempt<Result>(
    _ verification: FIDODevice.Verification,
    _ call: (FIDODevice.Verification) throws(FIDOError) -> Result
  ) -> Swift.Result<Result, FIDOError> {
    key.onTouch()
    do throws(FIDOError) {
      return .success(
        try key.cancellation.during(device) { () throws(FIDOError) in try call(verification) })
    } catch {
      return .failure(error)
    }
  }

  /// Asks the person for the PIN.
  ///
  /// - Throws: `promptDismissed`, `wrongKey` for what is no PIN, and what the key reports.
  private func askForPIN() throws(StoreError) -> SecretBytes {
    guard device.hasPIN else { throw failure(.pinNotSet) }
    let triesLeft: Int
    do throws(FIDOError) {
      triesLeft = try key.cancellation.during(device) { () throws(FIDOError) in
        try device.triesLeft()
      }
    } catch {
      throw failure(error)
    }
    guard triesLeft > 0 else { throw failure(.pinBlocked) }
    let question = SecurityKeyPINQuestion(
      label: label, product: device.place.product, triesLeft: triesLeft)
    guard let pin = key.pin(question) else {
      throw StoreError(
        .promptDismissed, store: name, reason: "the question for its PIN was dismissed",
        remedy: "Try again, and type the PIN")
    }
    guard pin.isPossiblePIN else {
      throw StoreError(
        .wrongKey, store: name,
        reason: "the PIN is wrong: PINs have 4 to 63 bytes; this did not cost a try",
        remedy: "Try again", underlying: FIDOError.pinBreaksRules)
    }
    return pin
  }

  private func failure(_ error: FIDOError) -> StoreError {
    // A key that was unplugged meanwhile does not say how many.
    let isCounted = error == .wrongPIN || error == .pinBlockedUntilPluggedIn
    let triesLeft = isCounted ? try? device.triesLeft() : nil
    return StoreError(error, of: name, at: device.place, triesLeft: triesLeft)
  }
}

extension SecretBytes {
  /// Whether it can be the PIN of a key (CTAP 2.1, 6.5.1).
  fileprivate var isPossiblePIN: Bool {
    4...63 ~= byteCount
      && withBytes { bytes in
        (0..<bytes.byteCount).allSatisfy {
          unsafe bytes.unsafeLoad(fromByteOffset: $0, as: UInt8.self) != 0
        }
      }
  }
}
