import Foundation
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// `session-tools login`, `token` and `logout` at servers that need more than their issuer, or that
/// answer in their own ways.
@Suite(.onOwnThread) struct `the command line at other people's servers` {
  private let server: PliableServer

  init() throws {
    server = try PliableServer()
  }

  private static let refusals = [
    "bad_refresh_token", "interaction_required", "login_required", "consent_required",
    "invalid_token",
  ]

  @Test(arguments: refusals, [200, 400, 401])
  func `says to log in again when a person must, and keeps the login`(
    _ error: String, _ status: Int
  ) throws {
    #expect(try server.signIn("--scope mail").status == 0)
    try server.answer("token", #"{"error": "\#(error)"}"#, status: status)
    let refused = try server.run("token")
    #expect(refused.status == 10 && refused.output.isEmpty)
    let command =
      "session-tools login --issuer '\(server.address)' --client-id app --scope mail "
      + "--store store --service mail"
    #expect(refused.complaint.contains("(\(error)). Run \(command)\n"), "\(refused.complaint)")
    // The command is complete, and helps.
    try server.answer("token", #"{"access_token": "AT2", "refresh_token": "RT2"}"#)
    let again = try server.tool.run(
      command, environment: ["BROWSER": server.tool["browser"]])
    #expect(again.status == 0, "\(again.complaint)")
    #expect(try server.run("token").text == "AT2\n")
  }

  private static let role = "arn:aws:iam::123456789012:role/dev"

  /// Asks for keys of AWS; the server stands for STS, too.
  private func awsKeys() throws -> Tool.Outcome {
    try server.run(
      "token --format aws --role-arn \(Self.role)",
      environment: ["AWS_ENDPOINT_URL_STS": "\(server.address)/sts"])
  }

  @Test func `exchanges the token for keys of AWS`() throws {
    #expect(try server.signIn().status == 0)
    try server.answer("token", #"{"access_token": "AT2", "expires_in": 3600}"#)
    // As STS answers, with more than is read.
    try server.answer(
      "sts",
      """
      <AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
        <AssumeRoleWithWebIdentityResult>
          <AssumedRoleUser><Arn>a</Arn><AssumedRoleId>b</AssumedRoleId></AssumedRoleUser>
          <Credentials><SessionToken>t/+=</SessionToken><SecretAccessKey>k/+=</SecretAccessKey>
            <Expiration>2030-01-31T12:00:00Z</Expiration><AccessKeyId>ASIA1</AccessKeyId>
          </Credentials>
        </AssumeRoleWithWebIdentityResult>
        <ResponseMetadata><RequestId>c</RequestId></ResponseMetadata>
      </AssumeRoleWithWebIdentityResponse>
      """)
    let keys = try awsKeys()
    #expect(
      keys.text == """
        {"AccessKeyId":"ASIA1","Expiration":"2030-01-31T12:00:00Z","SecretAccessKey":"k/+=",\
        "SessionToken":"t/+=","Version":1}

        """, "\(keys.complaint)")
    let asked = try #require(try server.seen().last { $0.path == "/sts" })
    #expect(
      Set(asked.fields) == [
        "Action=AssumeRoleWithWebIdentity", "Version=2011-06-15", "WebIdentityToken=AT2",
        "RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Fdev", "RoleSessionName=session-tools",
      ])
  }

  @Test(
    arguments: [
      (
        400, "<E><Error><Code>Denied</Code><Message>Not\u{1b}[1m you</Message></Error></E>", 1,
        "it answers 400: Denied: Not\\u{1b}[1m you"
      ),
      (
        400, "<E><Code>ExpiredTokenException</Code><Message>AT2 is old</Message></E>", 10,
        "ExpiredTokenException: … is old"
      ),
      (400, "<E><Code>Throttling</Code></E>", 11, "it answers 400: Throttling"),
      (503, "<html><br>busy", 11, "it answers 503"),
      (200, "<A><AccessKeyId>geheim</AccessKeyId></A>", 1, "its answer has no keys"),
      (200, "geheim", 1, "there is text outside of the document's element"),
    ] as [(Int, String, Int32, String)])
  func `says why AWS gives no keys`(
    _ status: Int, _ body: String, _ exit: Int32, _ reason: String
  ) throws {
    #expect(try server.signIn().status == 0)
    try server.answer("token", #"{"access_token": "AT2", "expires_in": 3600}"#)
    try server.answer("sts", body, status: status)
    let refused = try awsKeys()
    #expect(refused.status == exit && refused.output.isEmpty)
    #expect(refused.complaint.contains(reason), "\(refused.complaint)")
    #expect(!refused.complaint.contains("geheim") && !refused.complaint.contains("AT2"))
  }

  @Test func `gives the command with every option that the login needs`() throws {
    let free = try freePort()
    let options =
      "--scope mail --redirect-path /back --port \(free) --localhost --parameter 'audience=https://b'"
    #expect(try server.signIn(options).status == 0)
    try server.answer("token", #"{"error": "login_required"}"#, status: 400)
    #expect(try server.run("token").complaint.contains("\(options) --store"))
    #expect(try server.signIn("--device").status == 1)
    try server.answer("token", #"{"access_token": "AT2", "expires_in": 0.001}"#)
    #expect(try server.signIn("--device").status == 0)
    #expect(try server.run("token").complaint.contains("--client-id app --device --store"))
  }

  @Test func `gives the key of the store with the command`() throws {
    let tool = server.tool
    try tool.run("session-tools init other --key-file key; printf secret > passphrase")
    try tool.run("chmod 600 passphrase; session-tools init third --passphrase-file passphrase")
    for (store, key) in [("other", "--key-file key"), ("third", "--passphrase-file passphrase")] {
      let outcome = try tool.run("session-tools token --store \(store) --service mail \(key)")
      #expect(outcome.status == 10)
      #expect(outcome.complaint.hasSuffix("--store \(store) --service mail \(key)\n"))
    }
  }

  /// The hint is to press Ctrl-C, and the code is spent then.
  @Test func `gives no hint at other browsers when the browser has returned`() throws {
    try server.set(#"{"pause": 11}"#)
    let slow = try server.signIn()
    #expect(slow.status == 0 && !slow.complaint.contains("Still waiting"))
  }

  @Test func `does not wait longer for another device than the person wants`() throws {
    try server.answer("token", #"{"error": "authorization_pending"}"#, status: 400)
    let outcome = try server.signIn("--device --wait 1.5")
    #expect(outcome.status == 1 && outcome.complaint.contains("not finished in time"))
  }

  /// What only a login can be told is no advice for another command.
  @Test func `gives no advice that a command does not take`() throws {
    #expect(try server.signIn().status == 0)
    try server.set(#"{"metadata": false}"#)
    let refused = try server.run("token")
    #expect(refused.status == 1 && !refused.complaint.contains("--token-endpoint"))
    #expect(refused.complaint.contains("login --issuer '\(server.address)' --client-id app"))
    let out = try server.run("logout")
    #expect(out.status == 1 && !out.complaint.contains("--"), "\(out.complaint)")
  }

  @Test func `says that an address is wrong, and not to try again`() throws {
    let address = server.address
    let outcome = try server.signIn(
      "--authorization-endpoint \(address)/authorize --token-endpoint \(address)/tokn")
    #expect(outcome.status == 1, "\(outcome.complaint)")
    #expect(outcome.complaint.contains("there is no such service at "))
    #expect(outcome.complaint.contains("/tokn (status 404). Check the addresses"))
  }

  @Test func `refreshes a token that is still valid if it is told to`() throws {
    #expect(try server.signIn().status == 0)
    for number in 2...3 {
      let tokens = #"{"access_token": "AT\#(number)", "refresh_token": "r", "expires_in": 3600}"#
      try server.answer("token", tokens)
      #expect(try server.run("token --refresh").text == "AT\(number)\n")
    }
    #expect(try server.run("token").text == "AT3\n")
  }

  /// The server has spent the token by then.
  @Test func `stores what the server issues also after a signal`() throws {
    #expect(try server.signIn().status == 0)
    try server.answer("token", #"{"access_token": "A2", "refresh_token": "R2", "expires_in": 99}"#)
    try server.set(#"{"pause": 1}"#)
    let stopped = try server.tool.run(
      """
      session-tools token --store store --service mail & process=$!
      until curl --silent \(server.address)/test/seen | grep --quiet refresh_token=RT1; do
        sleep 0.02
      done
      kill $process
      wait $process
      """)
    #expect(stopped.status == 128 + SIGTERM && stopped.output.isEmpty)
    let again = try server.run("token")
    #expect(again.text == "A2\n", "\(again.complaint)")
    #expect(try server.seen().count { $0.path == "/token" } == 2)
  }

  @Test func `removes a login only for invalid_grant`() throws {
    #expect(try server.signIn().status == 0)
    try server.answer("token", #"{"error": "invalid_grant"}"#, status: 400)
    let rejected = try server.run("token")
    #expect(rejected.status == 10)
    #expect(rejected.complaint.contains("no longer accepts the login. Run"))
    #expect(try server.tool.run("session-tools list store").text.isEmpty)
  }

  /// A script that repeats a command on status 11 must not do so for ever.
  @Test(arguments: [
    (#"{"error": "invalid_client"}"#, 1, "log in again with other options than session-tools", 1),
    ("{}", 1, "has no access_token", 1), (#"{"scope": "mail"}"#, 1, "has no access_token", 1),
    ("<html>", 11, "requires its own login", 1),
    (#"{"error": "server_error"}"#, 11, "cannot answer", 5),
  ])
  func `distinguishes what passes from what does not`(
    _ body: String, _ status: Int32, _ text: String, _ requestCount: Int
  ) throws {
    #expect(try server.signIn().status == 0)
    try server.answer("token", body, status: 200)
    let outcome = try server.run("token")
    #expect(outcome.status == status && outcome.complaint.contains(text), "\(outcome.complaint)")
    // The first one is that of the login.
    #expect(try server.seen().count { $0.path == "/token" } == 1 + requestCount)
  }

  @Test func `logs in and refreshes at a server without metadata`() throws {
    try server.set(#"{"metadata": false}"#)
    let refused = try server.signIn()
    #expect(refused.status == 1)
    #expect(refused.complaint.contains("has no metadata for this issuer"))
    #expect(refused.complaint.contains("Check --issuer, or give --token-endpoint"))
    let address = server.address
    let login = try server.signIn(
      "--authorization-endpoint \(address)/authorize --token-endpoint \(address)/token "
        + "--revocation-endpoint \(address)/revoke")
    #expect(login.status == 0, "\(login.complaint)")
    try server.answer("token", #"{"access_token": "AT2", "refresh_token": "RT2"}"#)
    #expect(try server.run("token").text == "AT2\n")
    #expect(try server.run("logout").status == 0)
    #expect(
      try server.seen().map(\.path) == ["/authorize", "/token", "/token", "/revoke", "/revoke"])
    let device = try server.signIn(
      "--device --device-endpoint \(address)/device --token-endpoint \(address)/token")
    #expect(device.status == 0, "\(device.complaint)")
  }

  @Test func `revokes both tokens, whatever the server answers to the first`() throws {
    #expect(try server.signIn().status == 0)
    try server.answer("revoke", "", status: 204)
    #expect(try server.run("logout").status == 0)
    #expect(try server.signIn().status == 0)
    try server.answer("revoke", "<html>", status: 503)
    let outcome = try server.run("logout")
    #expect(outcome.status == 11 && outcome.complaint.contains("not every token could be revoked"))
    #expect(try server.tool.run("session-tools list store").text.isEmpty)
    let revoked = try server.seen().filter { $0.path == "/revoke" }.map { $0.fields.first }
    #expect(revoked == ["token=RT1", "token=AT1", "token=RT1", "token=AT1"])
  }

  @Test(arguments: [
    "--resource https://api.example/a --resource https://api.example/b",
    "--parameter resource=https://api.example/a --parameter resource=https://api.example/b",
  ])
  func `names the resources in every request, and further parameters in the first`(
    _ options: String
  ) throws {
    #expect(try server.signIn("\(options) --parameter prompt=login").status == 0)
    try server.answer("token", #"{"access_token": "AT2", "refresh_token": "RT2"}"#)
    #expect(try server.run("token").text == "AT2\n")
    let seen = try server.seen()
    #expect(seen.map(\.path) == ["/authorize", "/token", "/token"])
    for (_, fields) in seen {
      let resources = fields.filter { $0.hasPrefix("resource=") }
      let named = ["a", "b"].map { "resource=https%3A%2F%2Fapi.example%2F\($0)" }
      #expect(resources == named)
    }
    #expect(seen.map { $0.fields.contains("prompt=login") } == [true, false, false])
    #expect(
      try server.signIn("--device --parameter prompt=login --resource https://api.example/a").status
        == 0)
    let device = try #require(server.seen().first { $0.path == "/device" })
    #expect(device.fields.contains("prompt=login"))
    #expect(device.fields.contains("resource=https%3A%2F%2Fapi.example%2Fa"))
  }

  @Test(arguments: [
    ("--parameter state=x", "cannot set state"), ("--parameter prompt", "NAME=VALUE"),
    ("--parameter a=1 --parameter a=2", "twice"),
    ("--authorization-endpoint https://a.example", "--token-endpoint"),
    ("--token-endpoint https://a.example/t", "--authorization-endpoint"),
    (
      "--device --token-endpoint https://a.example/t --authorization-endpoint https://a.example/a",
      "--device-endpoint"
    ),
    ("--device --port 8080", "no redirect"), ("--device --redirect-path /x", "no redirect"),
    ("--device --print-address", "no address"), ("--device --paste", "no address"),
    ("--print-address", "no terminal"), ("--paste", "no terminal"), ("--port 70000", "port"),
    ("--token-endpoint http://a.example --authorization-endpoint https://a.example", "https"),
  ])
  func `refuses options that cannot work together`(_ options: String, _ text: String) throws {
    let outcome = try server.signIn(options)
    #expect(outcome.status == 64 && outcome.complaint.contains(text), "\(outcome.complaint)")
    #expect(try server.seen().isEmpty)
  }

  private func freePort() throws -> String {
    try server.tool.run(
      "python3 -c 'import socket; s = socket.socket(); s.bind((\"127.0.0.1\", 0)); "
        + "print(s.getsockname()[1])'"
    ).text.trimmingCharacters(in: .newlines)
  }

  @Test func `listens on the port that the server allows`() throws {
    let free = try freePort()
    #expect(try server.signIn("--port \(free)").status == 0)
    let redirect = "redirect_uri=http%3A%2F%2F127.0.0.1%3A\(free)%2Fcallback"
    let seen = try server.seen()
    #expect(seen.allSatisfy { $0.fields.contains(redirect) } && seen.count == 2)
    #expect(try server.signIn("--port \(free) --localhost").status == 0)
    let local = "redirect_uri=http%3A%2F%2Flocalhost%3A\(free)%2Fcallback"
    #expect(try server.seen().count { $0.fields.contains(local) } == 2)
    // The server itself has this port.
    let taken = try #require(server.address.split(separator: ":").last)
    let outcome = try server.signIn("--port \(taken)")
    #expect(outcome.status == 1)
    #expect(outcome.complaint.contains("cannot listen on port \(taken), which another program has"))
  }

  /// Starts a login on a terminal, whose other output goes to files.
  private func terminal(_ option: String) throws -> PseudoTerminal {
    try PseudoTerminal(
      server.tool,
      [
        "/bin/sh", "-c",
        "exec session-tools login --issuer \(server.address) --client-id app --store store "
          + "--service mail \(option) >out 2>err",
      ])
  }

  /// Returns the address of the login that a terminal shows.
  private func address(on terminal: PseudoTerminal) throws -> String {
    let lines = terminal.text.split(whereSeparator: \.isNewline)
    return String(try #require(lines.first { $0.hasPrefix(server.address) }))
  }

  @Test func `shows the address on the terminal alone if that is wanted`() throws {
    let terminal = try terminal("--print-address")
    #expect(terminal.shows("Open this address in a browser on this machine:"))
    #expect(terminal.shows("ssh -L "))
    let line = try address(on: terminal)
    let answer = try server.tool.run("curl --silent --location '\(line)'")
    #expect(answer.text.contains("The browser's part is done."), "\(answer.complaint)")
    #expect(terminal.end() == 0)
    let logged = try server.tool.run("cat out err").text
    #expect(!logged.contains("state=") && logged.contains("Logged in."), "\(logged)")
    #expect(terminal.text.contains("ssh -L "))
  }

  @Test func `takes the address that a browser on another machine came to`() throws {
    let terminal = try terminal("--paste")
    #expect(terminal.shows("Open this address in a browser:"))
    #expect(terminal.shows("Address (not shown): "))
    let line = try address(on: terminal)
    // Without the page that the address leads to.
    let address = try server.tool.run(
      "curl --silent --output page --write-out '%{redirect_url}' '\(line)'"
    ).text
    #expect(address.hasPrefix("http://127.0.0.1:") && address.contains("code="))
    let begin = address.prefix { $0 != "?" }
    for (wrong, refusal) in [
      (line, "This is not the address"), (String(begin), "This is not the address"),
      (address.replacing("127.0.0.1", with: "example.com"), "This is not the address"),
      ("\(begin)?code=1&state=2", "This is the address of another login"),
      ("", "This is not the address"),
    ] {
      terminal.type("\(wrong)\n")
      #expect(terminal.shows(refusal), "\(wrong)")
      #expect(terminal.shows("begins with \(begin)?"))
      #expect(terminal.shows("Address (not shown): "))
    }
    terminal.type(" \(address)\n")
    #expect(terminal.end() == 0)
    #expect(!terminal.text.contains("code="))
    let logged = try server.tool.run("cat out err").text
    #expect(!logged.contains("state=") && logged.contains("Logged in."), "\(logged)")
  }

  @Test func `takes a browser's answer while it asks for the address`() throws {
    let terminal = try terminal("--paste")
    #expect(terminal.shows("Address (not shown): "))
    let line = try address(on: terminal)
    let answer = try server.tool.run("curl --silent --location '\(line)'")
    #expect(answer.text.contains("The browser's part is done."), "\(answer.complaint)")
    #expect(terminal.end() == 0)
    #expect(try server.tool.run("cat err").text.contains("Logged in."))
  }

  @Test func `says after ten seconds how to see the address`() throws {
    let outcome = try server.run(
      "login --issuer \(server.address) --client-id app --wait 11",
      environment: ["BROWSER": "true"])
    #expect(outcome.status == 1)
    #expect(outcome.complaint.contains("--print-address, or with --device"))
    #expect(!outcome.complaint.contains("state="))
  }
}
