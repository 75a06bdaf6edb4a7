import SessionToolsBase

extension FIDOError {
  /// Whether the key counted a wrong PIN.
  var isWrongPIN: Bool { self == .wrongPIN || self == .wrongPINToken }
}

extension StoreError {
  /// Converts an error of libfido2.
  ///
  /// - Parameters:
  ///   - error: The error, which becomes the underlying one.
  ///   - name: The key, as a person would name it.
  ///   - path: The path of its device.
  ///   - triesLeft: How many wrong PINs it still accepts.
  init(_ error: FIDOError, of name: String, at path: String? = nil, triesLeft: Int? = nil) {
    let (code, reason, remedy): (Code, String, String?) =
      switch error {
      case _ where error.isWrongPIN:
        (
          .wrongKey, "the PIN is wrong" + (triesLeft.map { ", \(Self.tries($0)) left" } ?? ""),
          "After the last try the key refuses every PIN until it is reset, which erases it"
        )
      case .wrongFinger:
        (.wrongKey, "the key did not recognize the finger", nil)
      case .pinBlocked:
        (
          .keyBlocked, "the key accepts no PIN any more, after too many wrong ones",
          "Open the store another way; the key needs a reset, which erases it"
        )
      case .pinBlockedUntilPluggedIn:
        (
          .keyBlocked, "the key accepts no PIN for now, after three wrong ones in a row",
          "Unplug it and plug it in again"
        )
      case .readerBlocked:
        (.keyBlocked, "the key accepts no finger any more, and has no PIN", nil)
      case .noCredentials:
        (.keyMissing, "this is not the key that opens the slot", "Plug in the right one")
      case .pinNotSet:
        (
          .invalidKey, "the key has no PIN and knows no finger",
          "Set a PIN with fido2-token -S \(path ?? "DEVICE")"
        )
      case .pinRequired:
        (
          .invalidKey, "the key always asks for its PIN or a finger",
          "Make a slot that asks for them, too"
        )
      case .operationDenied:
        (.promptDismissed, "the person refused on the key", nil)
      case .personTooSlow, .actionTooSlow:
        (.timedOut, "the key was not touched in time", "Try again")
      case .toldToStop:
        (.cancelled, "the program cancelled the use of the key", nil)
      default:
        (
          .unavailable, "the key does not answer as it should (\(error.name))",
          "Plug it in again, and close other programs that use it"
        )
      }
    self.init(code, store: name, reason: reason, remedy: remedy, underlying: error)
  }

  private static func tries(_ count: Int) -> String { count == 1 ? "1 try" : "\(count) tries" }
}
