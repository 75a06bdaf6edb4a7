/// Asks the first of several authenticators that can be asked, and the next when the person wants
/// another way, or there turns out to be nobody who could show the question.
///
/// It never goes on to another because one said no: a finger that does not match is an answer.
public struct FirstAvailableAuthenticator: Authenticator {
  private let authenticators: [any Authenticator]

  /// Takes authenticators in the order in which they are to be tried.
  public init(_ authenticators: [any Authenticator]) {
    self.authenticators = authenticators
  }

  /// What the system offers, whichever that is.
  public var method: AuthenticationMethod { .system }

  /// Available if one is; else why the first is not.
  public func availability() async -> AuthenticatorAvailability {
    var first: AuthenticatorAvailability?
    for authenticator in authenticators {
      let availability = await authenticator.availability()
      if availability.isAvailable { return .available }
      first = first ?? availability
    }
    return first ?? .unavailable(.noAuthenticator)
  }

  /// Asks the first that is available, and the one after it when nobody was asked, or chose another way.
  ///
  /// - Throws: What the one that was asked last throws; when none is available, why the first is not.
  public func evaluate(
    _ request: AuthenticationRequest
  ) async throws(AuthenticationError) -> AuthenticationMethod {
    var (firstRefusal, fallback): (AuthenticationError?, AuthenticationError?) = (nil, nil)
    for authenticator in authenticators {
      if case .unavailable(let error) = await authenticator.availability() {
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
    AuthenticationError(misconfigured, "there is no way to authenticate anybody")
  }
}
