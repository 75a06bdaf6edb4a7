/// Why a refresh failed.
public enum RefreshError: Error {
  /// There is nothing to refresh with.
  case noToken
  /// The refresh was tried and failed with this error.
  case unableToRefresh(error: any Error)
}

/// How a refresh handler failed its caller; found in ``RefreshError/unableToRefresh(error:)``.
public enum RefreshHandlerError: Error, Hashable {
  /// The session has no handler.
  case missing
  /// The handler released its completion without calling it.
  case abandoned
}

extension RefreshHandlerError: CustomStringConvertible {
  /// What happened and what to do.
  public var description: String {
    switch self {
    case .missing: "The session has no refresh handler: set its refreshHandler."
    case .abandoned: "The refresh handler ended without calling its completion."
    }
  }
}
