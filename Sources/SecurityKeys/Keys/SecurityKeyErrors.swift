import SealedStore
import SecretStores

extension StoreError {
  /// Converts an error of libfido2.
  ///
  /// - Parameters:
  ///   - error: The error, which becomes the underlying one.
  ///   - name: What it is about: a key, as a person would name it, or `StoreError.slotName`.
  ///   - place: Where the key is plugged in, if it is known.
  ///   - triesLeft: How many wrong PINs it still accepts, if it says so.
  init(
    _ error: FIDOError, of name: String, at place: FIDODevice.Place? = nil, triesLeft: Int? = nil
  ) {
    let path = place?.path ?? "DEVICE"
    let left = triesLeft.map { ", \(SecurityKeyPINQuestion.tries($0)) left" } ?? ""
    let (code, reason, remedy): (Code, String, String) =
      switch error {
      case .wrongPIN:
        (
          .wrongKey, "the PIN is wrong\(left)",
          "Try again; after the last try the key refuses every PIN until it is reset, which erases "
            + "it"
        )
      case .wrongFinger:
        (
          .wrongKey, "the key did not recognize the finger",
          "Try again, or set a PIN with fido2-token -S \(path) to use it instead"
        )
      case .pinProofRefused:
        (
          .unavailable, "the key does not accept what was agreed with it (\(error.name))",
          "Try again, and let no other program use the key meanwhile"
        )
      case .pinBlocked:
        (
          .keyBlocked, "the key accepts no PIN any more, after too many wrong ones",
          "Only a reset with fido2-token -R \(path) makes it usable again, and that erases it: it "
            + "then opens no slot that it made"
        )
      case .pinBlockedUntilPluggedIn:
        (
          .keyBlocked, "the key accepts no PIN for now, after three wrong ones in a row\(left)",
          "Unplug it, plug it in again, and try again"
        )
      case .readerBlocked:
        (
          .keyBlocked, "the key accepts no finger any more, and has no PIN",
          "Set a PIN with fido2-token -S \(path), which it then asks for"
        )
      case .noCredentials:
        (
          .keyMissing, "the key that is plugged in is not the one that opens it",
          "Plug in the right one alone"
        )
      case .pinNotSet:
        (
          .invalidKey, "the key has no PIN and knows no finger",
          "Set a PIN with fido2-token -S \(path)"
        )
      case .pinBreaksRules:
        (
          .invalidKey, "the key wants another PIN before it is used",
          "Change the PIN with fido2-token -C \(path)"
        )
      case .pinRequired:
        (
          .invalidKey, "the key always asks for its PIN or a finger",
          "Make a slot that asks for them, too, and open the store with the key of another one"
        )
      case .operationDenied:
        (.promptDismissed, "the person refused on the key", "Try again, and confirm on the key")
      case .personTooSlow, .actionTooSlow:
        (.timedOut, "the key was not touched in time", "Try again")
      case .stopRequested:
        (.cancelled, "the program cancelled the use of the key", "Try again when it is wanted")
      default:
        (
          .unavailable,
          "\(place?.product ?? "the key") does not answer as it should (\(error.name))",
          "Plug it in again, and close other programs that use it"
        )
      }
    self.init(code, store: name, reason: reason, remedy: remedy, underlying: error)
  }
}
