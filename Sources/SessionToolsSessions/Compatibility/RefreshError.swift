import Foundation
public import SecretStores

/// Why a refresh failed.
public enum RefreshError: SessionToolsError {
  /// There is nothing to refresh with.
  case noToken
  /// The refresh was tried and failed with this error.
  case unableToRefresh(error: any Error)

  /// Whether the same call may succeed later: the error that the refresh failed with decides.
  public var isTransient: Bool {
    guard case .unableToRefresh(let error) = self else { return false }
    return (error as? any SessionToolsError)?.isTransient ?? false
  }
}

extension RefreshError: CustomStringConvertible {
  /// What happened; of another library's error, which may quote a secret, only the type.
  public var description: String {
    switch self {
    case .noToken: "there is nothing to refresh with."
    case .unableToRefresh(let error): "the refresh failed: \(SessionEvent.reason(error))"
    }
  }
}
