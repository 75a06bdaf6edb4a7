import SessionAuthentication
import Testing
import TestSupport

/// What came of an evaluation.
enum Evaluation: Equatable, CustomStringConvertible {
  case authenticated(AuthenticationMethod)
  case error(AuthenticationError)

  /// Evaluates an authenticator, with more time than anything takes that is in order.
  static func of(
    _ authenticator: some Authenticator, timeout: Duration = patience
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

  /// Whether both are the same, errors by their codes.
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

extension AuthenticatorAvailability {
  /// Why it is not available; `nil` when it is.
  var error: AuthenticationError? {
    if case .unavailable(let error) = self { error } else { nil }
  }
}
