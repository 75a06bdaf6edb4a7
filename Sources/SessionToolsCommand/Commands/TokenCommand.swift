import ArgumentParser
import SessionToolsBase
import WebLogin

/// `session-tools token`.
struct TokenCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "token",
    abstract: "Write a valid access token to standard output.",
    discussion: """
      The token is valid for at least a minute, if the server allows. It is refreshed if \
      necessary, once for all processes that ask at the same time. A newline follows it. Exit \
      status 10 when no one is logged in or the server wants the person to log in again, with \
      the command for that; 11 when the token cannot be refreshed now.

      Example:
        token=$(session-tools token --store ~/vault --service mail)
        curl -H @- https://api.example.com <<<"Authorization: Bearer $token"
      """)

  @OptionGroup var login: LoginOptions

  func run() throws {
    let place = try login.open()
    let login = try place.login()
    let session = place.session(login.client)
    do {
      let token = try waiting { try await session.validItem().credential.accessToken }
      try StandardOutput.write(token + "\n")
    } catch SessionError.notSignedIn {
      throw place.loginNeeded("no one is logged in", again: login)
    } catch SessionError.rejected {
      throw place.loginNeeded("the server no longer accepts the login", again: login)
    } catch let error as SessionError {
      guard let cause = error.underlying as? WebLoginError else { throw error }
      guard cause.requiresLogin else {
        throw Remedy.isAboutLogin(cause) ? place.notRefreshed(login, because: cause) : cause
      }
      let reason = cause.refusal.map { " (\($0.error))" } ?? ""
      throw place.loginNeeded(
        cause.code == .noRefreshToken
          ? "the login has expired, and the server issued no refresh token"
          : "the server wants the person to log in again\(reason)", again: login)
    }
  }
}
