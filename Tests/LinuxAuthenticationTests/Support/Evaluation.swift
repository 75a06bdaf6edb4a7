import SessionAuthentication
import Testing
import SessionToolsTestSupport

/// The outcome of an evaluation.
enum Evaluation: Equatable, CustomStringConvertible {
  case authenticated(AuthenticationMethod)
  case error(AuthenticationError)

  /// Evaluates an authenticator, with a timeout that is only reached if something is wrong.
  static func of(
    _ authenticator: some UserAuthenticator, timeout: Duration = patience
  ) async -> Evaluation {
    do throws(AuthenticationError) {
      return .authenticated(
        try await authenticator.evaluate(
          AuthenticationRequest(reason: "try it", timeout: timeout)))
    } catch {
      return .error(error)
    }
  }

  var error: AuthenticationError? {
    if case .error(let error) = self { error } else { nil }
  }

  var code: AuthenticationError.Code? { error?.code }

  /// Returns whether both are the same, where errors are compared by their codes.
  static func == (left: Evaluation, right: Evaluation) -> Bool {
    switch (left, right) {
    case (.authenticated(let left), .authenticated(let right)): left == right
    case (.error(let left), .error(let right)): left.code == right.code
    default: false
    }
  }

  var description: String {
    switch self {
    case .authenticated(let method): "authenticated by \(method)"
    case .error(let error): "\(error.code): \(error)"
    }
  }
}

extension UserAuthenticator {
  /// The reason why it is unavailable; `nil` if it is available.
  var unavailability: AuthenticationError? {
    get async {
      do throws(AuthenticationError) {
        try await checkAvailability()
        return nil
      } catch {
        return error
      }
    }
  }
}
