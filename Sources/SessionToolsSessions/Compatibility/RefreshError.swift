/// Why a refresh failed.
public enum RefreshError: Error {
  /// There is nothing to refresh with.
  case noToken
  /// The refresh was tried and failed with this error.
  case unableToRefresh(error: any Error)
}
