import ArgumentParser
import Foundation
import SessionToolsBase
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
      (RFC 8628). All other addresses come from the server itself, unless they are given; they are \
      stored with the login and used for its refreshes. The client needs no secret.

      With --print-address, the address of the login is shown on the terminal, and no browser is \
      opened: for another profile or browser, or one at the other end of ssh. With --paste, the \
      browser may be on any machine: in the end it comes to a page that it cannot open, whose \
      address the person pastes on the terminal. Certificates that \
      are trusted besides the system's are named by SSL_CERT_FILE, SSL_CERT_DIR or CURL_CA_BUNDLE, \
      and a proxy by HTTPS_PROXY, as for curl.

      A login that was killed before the browser returned continues with --resume, as long as its \
      port is free and its time is not over.

      Example:
        session-tools login --issuer https://login.example.com --client-id mail \\
          --scope offline_access --store ~/vault --service mail
        token=$(session-tools token --store ~/vault --service mail)
        curl -H @- https://api.example.com <<<"Authorization: Bearer $token"
      """)

  @OptionGroup(title: "Server") var server: ServerOptions

  @Option(
    name: .long,
    help: ArgumentHelp("The access to ask for; may be given several times.", valueName: "scope"))
  var scope: [String] = []

  @Flag(help: "Log in with a browser on another device.")
  var device = false

  @Flag(help: "Show the address on the terminal instead of opening a browser.")
  var printAddress = false

  @Flag(help: "Show the address, and ask for the one that a browser on another machine returns to.")
  var paste = false

  @Flag(help: "Continue a login that was killed.")
  var resume = false

  @Option(
    help: ArgumentHelp(
      "How long the person has to log in; 300 by default, and with --device as long as the code is "
        + "valid.", valueName: "seconds"))
  var wait: Double?

  @OptionGroup var redirect: RedirectOptions

  @OptionGroup var login: LoginOptions

  func validate() throws {
    guard !(device && resume) else {
      throw ValidationError("A login on another device cannot be resumed.")
    }
    guard !device || !printAddress && !paste && redirect.options.isEmpty else {
      throw ValidationError("A login on another device has no address to print, and no redirect.")
    }
    guard server.tokenEndpoint == nil || !device || server.deviceEndpoint != nil else {
      throw ValidationError("Give --device-endpoint with --device.")
    }
    guard server.tokenEndpoint == nil || device || server.authorizationEndpoint != nil else {
      throw ValidationError("Give --authorization-endpoint, or --device with --device-endpoint.")
    }
    guard wait.map({ $0 > 0 && $0 <= 86_400 }) ?? true else {
      throw ValidationError("--wait takes more than 0 and at most 86400 seconds.")
    }
  }

  func run() throws {
    guard !(printAddress || paste) || System.hasTerminal else {
      throw Failure(
        .usage, "there is no terminal to show the address on; log in with --device instead")
    }
    let client = try server.client()
    let place = try login.open()
    let (pending, session) = (place.pending, place.session(client))
    try waitingForPerson { [self] in
      let credential = try await credential(from: client, pending)
      try await session.signIn(StoredLogin(credential, with: self))
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
      return try await credentialByBrowser(from: client, pending)
    } catch let error as WebLoginError where error.code == .denied {
      // The server has been sent no secret but a device code of its own, which the denial ends, so
      // its text cannot quote a secret that matters.
      if let text = error.refusal?.text { StandardError.say("The server says: \(text)") }
      throw error
    }
  }

  private func credentialByBrowser(
    from client: OAuthClient, _ pending: PendingLogin.Storage
  ) async throws -> OAuthCredential {
    var session = WebAuthenticationSession(client: client, scopes: scopes, pending: pending)
    if let wait { session.timeout = .seconds(wait) }
    session.redirectPath = redirect.path
    session.redirectPort = redirect.port
    session.redirectsToLocalhost = redirect.localhost
    session.parameters = try server.parameters()
    let question = paste ? PastedAddress() : nil
    session.browser =
      printAddress || paste ? PrintedAddress(question: question) : HintingBrowser()
    session.pastedAddress = question?.ask(refusal:)
    // A problem with the server is reported before the browser opens.
    if !resume { _ = try await client.server() }
    if resume {
      if try await session.isPending() { StandardError.say("Waiting for the browser.") }
      return try await session.resume(reopensBrowser: printAddress || paste)
    }
    if !paste {
      StandardError.say(
        printAddress ? "Waiting for the browser." : "Opening the browser, and waiting for it.")
    }
    return try await session.start()
  }

  private func credentialByDevice(from client: OAuthClient) async throws -> OAuthCredential {
    let authorization = try await client.authorizeDevice(
      scopes: scopes, parameters: try server.parameters())
    let text = await authorization.terminalText(withQRCode: StandardError.isTerminal)
    StandardError.sayLines(text)
    return try await client.credential(for: authorization, timeout: wait.map { .seconds($0) })
  }

  /// The scopes one by one, even if several were given as one text.
  var scopes: [String] {
    scope.flatMap { $0.split(separator: " ").map(String.init) }
  }
}
