import SessionAuthentication

/// A reader's result for a finger: fprintd's `VerifyStatus`.
enum FingerprintScan: Hashable, Sendable {
  case match
  case noMatch
  /// The finger was not read well; the reader continues.
  case retry(FingerprintHint)
  /// The reader has ended, for this reason.
  case ended(String)

  /// Parses a status.
  init(_ status: String, isDone: Bool) {
    switch (status, isDone) {
    case ("verify-match", true): self = .match
    case ("verify-no-match", true): self = .noMatch
    case (_, true): self = .ended(status)
    case (_, false): self = .retry(FingerprintHint(rawValue: status) ?? .retry)
    }
  }
}

/// The reason why a finger was not read well.
enum FingerprintHint: String, Sendable {
  case retry = "verify-retry-scan"
  case swipeTooShort = "verify-swipe-too-short"
  case notCentered = "verify-finger-not-centered"
  case remove = "verify-remove-and-retry"
  case tooFast = "verify-too-fast"

  /// Instructions for the person.
  var text: String {
    switch self {
    case .retry: "The finger could not be read. Try again"
    case .swipeTooShort: "The swipe was too short. Try again, with the whole finger"
    case .notCentered: "The finger was not in the middle of the reader. Try again"
    case .remove: "Lift your finger, and try again"
    case .tooFast: "That was too fast. Try again more slowly"
    }
  }
}
