import ArgumentParser
import Foundation
import SessionToolsBase
import ToolBase
import WebLogin

/// `session-tools login`.
struct LoginCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "login",
    abstract: "Log in at an authorization server, and store the tokens.",
    discussion: """
      Opens the browser (xdg-open, which respects BROWSER) and waits on a port of 127.0.0.1 for \
      its return; the server must allow the client that redirect, with any port (RFC 8252). With \
      --device, an address and a code for a browser on another device are shown instead \
      (RFC 8628). All other addresses come from the server itself, and the client needs no secret.

      A login that was killed before the browser returned continues with --resume, as long as its \
      port is free and its time is not over.

      Example:
        session-tools login --issuer https://login.example.com --client-id mail \\
          --scope offline_access --store ~/vault --service mail
        curl -H "Authorization: Bearer $(session-tools token --store ~/vault --service mail)" …
      """)

  @Option(help: ArgumentHelp("The server, as it names itself.", valueName: "url"))
  var issuer: String

  @Option(
    name: .customLong("client-id"),
    help: ArgumentHelp("The program, as the server knows it.", valueName: "id"))
  var clientID: String

  @Option(
    name: .long,
    help: ArgumentHelp("The access to ask for; may be given several times.", valueName: "scope"))
  var scope: [String] = []

  @Flag(help: "Log in with a browser on another device.")
  var device = false

  @Flag(help: "Continue a login that was killed.")
  var resume = false

  @Option(
    help: ArgumentHelp("How long the person has to log in.", valueName: "seconds"))
  var wait = 300.0

  @Option(
    help: ArgumentHelp("The path of the redirect, as the server knows it.", valueName: "path"))
  var redirectPath = "/callback"

  @OptionGroup var login: LoginOptions

  func validate() throws {
    guard !(device && resume) else {
      throw ValidationError("A login on another device cannot be resumed.")
    }
    guard wait > 0, wait <= 86_400 else {
      throw ValidationError("--wait takes more than 0 and at most 86400 seconds.")
    }
  }

  func run() throws {
    let client = OAuthClient(issuer: issuer, clientID: clientID)
    let place = try login.open()
    let (pending, session) = (place.pending, place.session(client))
    try waitingForPerson { [self] in
      let credential = try await credential(from: client, pending)
      try await session.logIn(
        StoredLogin(credential: credential, issuer: client.issuer, clientID: client.clientID))
      StandardError.say("Logged in.")
      if credential.refreshToken == nil {
        StandardError.say(
          "The server issued no refresh token; many servers need --scope offline_access for it.")
      }
    }
  }

  private func credential(
    from client: OAuthClient, _ pending: PendingLogin.Storage
  ) async throws -> OAuthCredential {
    do {
      if device { return try await credentialByDevice(from: client) }
      var session = WebAuthenticationSession(client: client, scopes: scopes, pending: pending)
      session.timeout = .seconds(wait)
      session.redirectPath = redirectPath
      if resume {
        if try await session.isPending() { StandardError.say("Waiting for the browser.") }
        return try await session.resume()
      }
      // A problem with the server is reported before the browser opens.
      _ = try await client.server()
      StandardError.say("Opening the browser, and waiting for it.")
      return try await session.start()
    } catch let error as WebLoginError where error.code == .denied {
      // The server has been sent no secret but a device code of its own, which the denial ends, so
      // its text cannot quote a secret that matters.
      if let text = error.refusal?.text { StandardError.say("The server says: \(text)") }
      throw error
    } catch let error as WebLoginError where error.code == .noBrowser {
      throw Failure(.failure, "\(error.reason). Set BROWSER, or log in with --device.")
    }
  }

  private func credentialByDevice(from client: OAuthClient) async throws -> OAuthCredential {
    let authorization = try await client.authorizeDevice(scopes: scopes)
    let text = await authorization.terminalText(withQRCode: StandardError.isTerminal)
    StandardError.sayLines(text)
    return try await client.credential(for: authorization)
  }

  /// The scopes one by one, even if several were given as one text.
  private var scopes: [String] {
    scope.flatMap { $0.split(separator: " ").map(String.init) }
  }
}
