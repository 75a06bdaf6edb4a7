/// An authenticator that uses the first available one of several.
///
/// It asks the next one when the person wants another way, or when the question could not be shown.
/// It never continues after a refusal: a finger that does not match is an answer.
public struct FirstAvailableAuthenticator: UserAuthenticator {
  private let authenticators: [any UserAuthenticator]

  /// Makes an authenticator of several, in the order in which they are tried.
  public init(_ authenticators: [any UserAuthenticator]) {
    self.authenticators = authenticators
  }

  /// The method `system`, whichever authenticator is used.
  public var method: AuthenticationMethod { .system }

  /// Checks that any authenticator is available.
  ///
  /// - Throws: The reason why the first is not.
  public func checkAvailability() async throws(AuthenticationError) {
    var first: AuthenticationError?
    for authenticator in authenticators {
      do throws(AuthenticationError) {
        return try await authenticator.checkAvailability()
      } catch {
        first = first ?? error
      }
    }
    throw first ?? .noAuthenticator
  }

  /// Asks the first available authenticator, and the next one after `userFallback` or
  /// `notInteractive`.
  ///
  /// - Throws: The error of the authenticator that was asked last; when none is available, the
  ///   reason why the first is not.
  public func evaluate(
    _ request: AuthenticationRequest
  ) async throws(AuthenticationError) -> AuthenticationMethod {
    var (firstRefusal, fallback): (AuthenticationError?, AuthenticationError?) = (nil, nil)
    for authenticator in authenticators {
      do throws(AuthenticationError) {
        try await authenticator.checkAvailability()
      } catch {
        firstRefusal = firstRefusal ?? error
        continue
      }
      do throws(AuthenticationError) {
        return try await authenticator.evaluate(request)
      } catch {
        guard
          [AuthenticationError.userFallback, AuthenticationError.notInteractive]
            .contains(error.code)
        else { throw error }
        fallback = error
      }
    }
    throw fallback ?? firstRefusal ?? .noAuthenticator
  }
}

extension AuthenticationError {
  fileprivate static var noAuthenticator: AuthenticationError {
    AuthenticationError(.misconfigured, "there is no authenticator to ask")
  }
}
