import ArgumentParser
import SessionToolsBase
import ToolBase
import WebLogin

/// `session-tools token`.
struct TokenCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "token",
    abstract: "Write a valid access token to standard output.",
    discussion: """
      The token is valid for at least a minute, if the server allows. It is refreshed if \
      necessary, once for all processes that ask at the same time. A newline follows it. Exit \
      status 10 when no one is logged in or the server no longer accepts the login, 11 when the \
      token cannot be refreshed now.

      Example:
        curl -H "Authorization: Bearer $(session-tools token --store ~/vault --service mail)" …
      """)

  @OptionGroup var login: LoginOptions

  func run() throws {
    let place = try login.open()
    let (session, _) = try place.session()
    do {
      let token = try waiting { try await session.validItem().credential.accessToken }
      try StandardOutput.write(token + "\n")
    } catch SessionError.notSignedIn {
      throw place.loginNeeded("no one is logged in")
    } catch SessionError.rejected {
      throw place.loginNeeded("the server no longer accepts the login")
    } catch let error as SessionError {
      throw Self.failure(error, place)
    }
  }

  private static func failure(_ error: SessionError, _ place: LoginStore) -> any Error {
    guard let cause = error.underlying as? WebLoginError else { return error }
    switch cause.code {
    case WebLoginError.noRefreshToken:
      return place.loginNeeded(
        "the login has expired, and the server issued no refresh token")
    default: return cause
    }
  }
}
