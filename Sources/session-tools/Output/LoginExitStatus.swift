import SessionToolsBase
import ToolBase
import WebLogin

extension ExitStatus {
  /// Creates the status of a failed login, or of a credential that could not be obtained.
  init(_ error: WebLoginError) {
    switch error.code {
    case WebLoginError.invalidConfiguration: self = .usage
    case _ where error.isTransient: self = .serverUnavailable
    default: self = .failure
    }
  }

  /// Creates the status of a session without a valid item.
  init(_ error: SessionError) {
    switch error.code {
    case SessionError.notSignedIn, SessionError.rejected: self = .loginNeeded
    case SessionError.temporarilyFailed, SessionError.timedOut: self = .serverUnavailable
    default: self = .failure
    }
  }
}
