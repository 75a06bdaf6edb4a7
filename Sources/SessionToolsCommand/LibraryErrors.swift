import SessionToolsBase
import StoreMigration
import WebLogin

extension RootCommand {
  static func outcome(of error: any Error) -> ErrorOutcome? {
    switch error {
    case let error as StoreError:
      ErrorOutcome(
        "\(Remedy.typed(error))", ExitStatus(error.code),
        isCancellation: error.code == .cancelled)
    case let error as MigrationError:
      ErrorOutcome(Remedy.text(of: error), ExitStatus(error))
    case let error as WebLoginError:
      ErrorOutcome(
        Remedy.text(of: error), ExitStatus(error),
        isCancellation: error.code == WebLoginError.cancelled)
    case let error as SessionError: ErrorOutcome("\(error)", ExitStatus(error))
    default: nil
    }
  }

  /// Returns the text of an error of a command, for other programs.
  static func text(of error: any Error) -> String {
    switch error {
    case let error as StoreError: "\(Remedy.typed(error))"
    case let error as MigrationError: Remedy.text(of: error)
    case let error as WebLoginError: Remedy.text(of: error)
    case let failure as Failure: failure.message
    default: "\(error)"
    }
  }
}

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
    case _ where error.isTransient: self = .serverUnavailable
    default: self = .failure
    }
  }
}
