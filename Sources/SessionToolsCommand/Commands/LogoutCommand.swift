import ArgumentParser
import SessionToolsBase
import WebLogin

/// `session-tools logout`.
struct LogoutCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "logout",
    abstract: "Remove a login, and revoke its tokens at the server.",
    discussion: """
      The login is removed in any case. Exit status 11 when the server could not be reached; the \
      tokens stay valid there until they expire. It is not an error if no one is logged in.

      Example:
        session-tools logout --store ~/vault --service mail
      """)

  @OptionGroup var login: LoginOptions

  func run() throws {
    let place = try login.open()
    let client: OAuthClient
    do {
      client = try place.login().client
    } catch let failure as Failure where failure.status == .loginNeeded {
      return
    }
    do {
      try waiting {
        try await place.session(client).signOut(revoking: \.credential, with: client)
      }
    } catch let error as WebLoginError {
      throw Failure(
        ExitStatus(error),
        "logged out, but not every token could be revoked: "
          + (Remedy.isAboutLogin(error) ? Remedy.reason(of: error) : Remedy.text(of: error)))
    }
  }
}
