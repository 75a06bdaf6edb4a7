import ArgumentParser
import Foundation
import SessionToolsBase
import WebLogin

/// `session-tools login`.
struct LoginCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "login",
    abstract: "Log in at an authorization server, and keep the tokens.",
    discussion: """
      Opens the browser (xdg-open, which respects BROWSER) and waits on a port of 127.0.0.1 until it \
      comes back; the server has to allow the client that redirect, with any port (RFC 8252). With \
      --device it shows an address and a code for a browser on another device instead (RFC 8628). \
      The server is asked for its own addresses, and the client needs no secret.

      A login that was killed before the browser came back goes on with --resume, while its port is \
      free and its time is not over.

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
    help: ArgumentHelp("What access to ask for; may be given again.", valueName: "scope"))
  var scope: [String] = []

  @Flag(help: "Log in with a browser on another device.")
  var device = false

  @Flag(help: "Go on with a login that was killed.")
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
          "The server gave nothing to refresh it with; many want --scope offline_access for that.")
      }
    }
  }

  private func credential(
    from client: OAuthClient, _ pending: PendingLoginPlace
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
      // What is wrong with it is said before anybody is sent to a browser.
      _ = try await client.server()
      StandardError.say("Opening the browser, and waiting for it.")
      return try await session.start()
    } catch let error as WebLoginError where error.code == WebLoginError.denied {
      // Nothing secret has been sent to who says this, so that it cannot quote any.
      if let text = error.refusal?.text { StandardError.say("The server says: \(text)") }
      throw error
    } catch let error as WebLoginError where error.code == WebLoginError.noBrowser {
      throw Failure(.failure, "\(error.reason). Set BROWSER, or log in with --device.")
    }
  }

  private func credentialByDevice(from client: OAuthClient) async throws -> OAuthCredential {
    let authorization = try await client.authorizeDevice(scopes: scopes)
    let text = await authorization.terminalText(withQRCode: StandardError.isTerminal)
    StandardError.sayLines(text)
    return try await client.credential(for: authorization)
  }

  /// Each by itself, also where several were given as one.
  private var scopes: [String] {
    scope.flatMap { $0.split(separator: " ").map(String.init) }
  }
}
