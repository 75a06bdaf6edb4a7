import Foundation
import SessionToolsOAuthTestSupport
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing
import WebLogin

/// `session-tools login`, `token` and `logout`, with a real store, server and browser.
private struct CommandStage: Sendable {
  let server: AuthlibServer
  let chromium: Chromium
  let tool: Tool

  init() throws {
    server = try AuthlibServer()
    chromium = try Chromium.shared()
    tool = try Tool()
    try tool.run("session-tools init store")
  }

  @discardableResult
  func run(_ command: String, _ more: String = "", _ act: Chromium.Act = .allow) throws
    -> Tool.Outcome
  {
    let server = command == "login" ? "--issuer \(server.address) --client-id app" : ""
    return try tool.run(
      "session-tools \(command) \(server) --store store --service mail \(more)",
      environment: chromium.environment(act))
  }

  /// Starts a login in a process that can be killed.
  func start(_ more: String..., act: Chromium.Act = .open, output: Int32? = nil) throws -> Child {
    try Child(
      Tool.program,
      [
        "login", "--issuer", server.address, "--client-id", "app", "--store", tool["store"],
        "--service", "mail",
      ] + more, environment: tool.environment.merging(chromium.environment(act)) { $1 },
      output: output)
  }

  func items() throws -> [String] {
    try tool.run("session-tools list store").text.split(separator: "\n")
      .compactMap { $0.split(separator: "\t").last.map(String.init) }
  }

  func waitForPage() async throws {
    try await wait(until: "the page is there") {
      (try? await chromium.perform(.page))?.hasPrefix("/authorize") ?? false
    }
  }
}

extension `one at a time` {
  @Suite struct `the command line` {
    @Test func `logs in and prints a valid token`() async throws {
      let stage = try CommandStage()
      let login = try stage.run("login", "--scope mail --scope 'openid offline_access'")
      #expect(login.status == 0 && login.output.isEmpty)
      #expect(login.complaint == "Opening the browser, and waiting for it.\nLogged in.\n")
      #expect(try stage.items() == ["login"])
      let token = try stage.run("token")
      #expect(token.status == 0 && token.complaint.isEmpty && token.text.hasSuffix("\n"))
      let text = String(token.text.dropLast())
      #expect(try await stage.server.status(with: text) == 200)
      #expect(try stage.run("token").text == token.text, "it is not refreshed before it is time")
      #expect(try stage.run("logout").status == 0)
      #expect(try await stage.server.status(with: text) == 401, "it is revoked")
      #expect(try stage.items().isEmpty)
      let after = try stage.run("token")
      #expect(after.status == 10 && after.output.isEmpty)
      #expect(
        after.complaint
          == "session-tools: store: no one is logged in. Run session-tools login --issuer URL "
          + "--client-id ID --store store --service mail\n")
      #expect(try stage.run("logout").status == 0)
    }

    @Test func `resumes a login after it was killed`() async throws {
      let stage = try CommandStage()
      let killed = try stage.start()
      try await stage.waitForPage()
      killed.kill()
      killed.waitUntilExit()
      #expect(try stage.items() == ["org.session-tools.pending:login"])
      let page = try #require(URL(string: try await stage.chromium.perform(.address)))
      let port = try LoginAddress(page).port
      let resumed = try stage.start("--resume")
      try await wait(until: "it listens") { try isListenedOn(port) }
      #expect(try await stage.chromium.perform(.allow).hasPrefix("/callback The browser's part"))
      #expect(resumed.waitUntilExit() == 0)
      #expect(try stage.items() == ["login"])
      #expect(try stage.run("token").status == 0)
    }

    @Test func `cannot resume a login that is not pending`() throws {
      let stage = try CommandStage()
      let outcome = try stage.run("login", "--resume")
      #expect(outcome.status == 1)
      #expect(outcome.complaint.hasSuffix("there is no login to resume. Start a new login.\n"))
    }

    @Test func `keeps nothing of a login that Ctrl-C ends`() async throws {
      let stage = try CommandStage()
      let login = try stage.start()
      try await stage.waitForPage()
      login.kill(SIGINT)
      #expect(login.waitUntilExit() == -SIGINT)
      #expect(try stage.items().isEmpty)
    }

    @Test func `shows the server's text for a denial`() async throws {
      let stage = try CommandStage()
      let outcome = try stage.run("login", "", .deny)
      #expect(outcome.status == 1 && outcome.output.isEmpty)
      #expect(outcome.complaint.contains("The server says: "))
      #expect(outcome.complaint.contains("the login was not allowed (access_denied)."))
    }

    @Test func `reports that the login did not end in time`() throws {
      let stage = try CommandStage()
      let outcome = try stage.run("login", "--wait 0.5", .close)
      #expect(outcome.status == 1 && outcome.complaint.contains("in time"))
      #expect(try stage.items().isEmpty)
    }

    @Test func `shows no part of the login's address`() async throws {
      let stage = try CommandStage()
      let outcome = try stage.tool.run(
        "session-tools login --issuer \(stage.server.address) --client-id app --store store "
          + "--service mail", environment: ["BROWSER": "/bin/false"])
      #expect(outcome.status == 1)
      #expect(outcome.complaint.contains("Set BROWSER, or log in with --print-address"))
      for part in ["authorize", "state=", "code_challenge"] {
        #expect(!outcome.complaint.contains(part))
      }
    }

    @Test func `logs in on another device`() async throws {
      let stage = try CommandStage()
      try await stage.server.set("interval=1")
      let complaint = stage.tool["complaint"]
      let login = try Child(
        "/bin/bash",
        [
          "-c",
          "exec session-tools login --device --issuer \(stage.server.address) --client-id app "
            + "--store '\(stage.tool["store"])' --service mail 2> '\(complaint)'",
        ], environment: stage.tool.environment)
      let code = Shared<String?>(nil)
      try await wait(until: "it shows a code") {
        let text = (try? String(contentsOfFile: complaint, encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("  ") && $0.contains("-") }
        code.update { $0 = line.map { $0.trimmingCharacters(in: .whitespaces) } }
        return code.now != nil
      }
      let shown = try #require(code.now)
      let address = try #require(
        URL(string: "\(stage.server.address)/device?user_code=\(shown)"))
      try await DesktopOpener(environment: stage.chromium.environment(.allow)).open(address)
      #expect(login.waitUntilExit() == 0)
      #expect(try stage.run("token").status == 0)
    }

    @Test func `distinguishes an unreachable server from a login that is over`() async throws {
      let stage = try CommandStage()
      try await stage.server.set("lifetime=0")
      #expect(try stage.run("login").status == 0)
      try await stage.server.set("status=503&wait=100")
      let busy = try stage.run("token")
      #expect(busy.status == 11, "\(busy.complaint)")
      #expect(busy.complaint.contains("Try again in 100 s."))
      #expect(try stage.items().contains("login"))
      try await stage.server.set("status=200&lifetime=3600")
      let good = try stage.run("token")
      #expect(good.status == 0 && good.complaint.isEmpty)
      // The login was revoked at the server.
      try await stage.server.set("lifetime=0")
      #expect(try stage.run("login").status == 0)
      try await stage.server.set("revoke=1")
      let over = try stage.run("token")
      #expect(over.status == 10)
      #expect(
        over.complaint
          == "session-tools: store: the server no longer accepts the login. "
          + "Run session-tools login --issuer '\(stage.server.address)' --client-id app "
          + "--store store --service mail\n")
      #expect(try stage.items().isEmpty)
    }

    @Test func `reports that a login without a refresh token is over`() async throws {
      let stage = try CommandStage()
      try await stage.server.set("refresh=0&lifetime=0")
      let login = try stage.run("login")
      #expect(login.status == 0 && login.complaint.contains("issued no refresh token"))
      let token = try stage.run("token")
      #expect(token.status == 10 && token.complaint.contains("Run session-tools login --issuer"))
    }

    @Test func `refreshes a token of less than two minutes once for processes in a row`()
      async throws
    {
      let stage = try CommandStage()
      try await stage.server.set("lifetime=0")
      #expect(try stage.run("login").status == 0)
      try await stage.server.set("lifetime=110")
      let tokens = try (0..<6).map { _ in try stage.run("token").text }
      #expect(Set(tokens).count == 1)
      #expect(try await stage.server.counts().refreshes == 1)
    }

    @Test func `waits no longer than asked for the refresh of another process`() async throws {
      let stage = try CommandStage()
      try await stage.server.set("lifetime=0")
      #expect(try stage.run("login").status == 0)
      try await stage.server.set("lifetime=3600&hold=1")
      let other = try Child(
        Tool.program, ["token", "--store", stage.tool["store"], "--service", "mail"],
        environment: stage.tool.environment)
      try await wait(until: "it refreshes") { try await stage.server.counts().held == 1 }
      let impatient = try stage.run("token", "--timeout 1")
      #expect(other.isRunning)
      #expect(impatient.status == 4 && impatient.output.isEmpty, "\(impatient.complaint)")
      try await stage.server.set("hold=0")
      #expect(other.waitUntilExit() == 0)
      #expect(try stage.run("token").status == 0)
      let counts = try await stage.server.counts()
      #expect(counts.refreshes == 1 && counts.reuses == 0)
    }

    @Test(arguments: ["header", "json", "exec-credential"])
    func `writes the token as programs take it, after one refresh for all who ask`(
      _ format: String
    ) async throws {
      let stage = try CommandStage()
      try await stage.server.set("lifetime=0")
      #expect(try stage.run("login").status == 0)
      try await stage.server.set("lifetime=3600")
      let outcome = try stage.tool.run(
        """
        for i in $(seq 20); do
          session-tools token --store store --service mail --timeout 300 \
            --format \(format) >token.$i &
          pids="$pids $!"
        done
        for pid in $pids; do wait $pid || echo failed; done
        cat token.* | sort -u
        """)
      let counts = try await stage.server.counts()
      #expect(counts.refreshes == 1 && counts.reuses == 0 && counts.rejected == 0)
      let token = try stage.run("token").text.trimmingCharacters(in: .newlines)
      let line = outcome.text.trimmingCharacters(in: .newlines)
      switch format {
      case "header": #expect(line == "Authorization: Bearer \(token)")
      case "json":
        let object = try #require(
          try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String])
        #expect(object["access_token"] == token && object["token_type"] == "Bearer")
        let end = try Date(try #require(object["expires_at"]), strategy: .iso8601)
        #expect((0...3600).contains(end.timeIntervalSinceNow))
      default:
        let object = try #require(
          try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        #expect(object["apiVersion"] as? String == "client.authentication.k8s.io/v1")
        let status = object["status"] as? [String: String]
        #expect(status?["token"] == token && status?["expirationTimestamp"]?.last == "Z")
        // As kubectl asks for the version of its configuration.
        let asked = #"'{"apiVersion":"client.authentication.k8s.io/v1beta1"}'"#
        let older = try stage.tool.run(
          "KUBERNETES_EXEC_INFO=\(asked) session-tools token --store store --service mail "
            + "--format \(format)")
        #expect(older.text.contains("client.authentication.k8s.io/v1beta1"))
      }
    }

    @Test func `refreshes once when 50 processes ask for a token that has expired`() async throws {
      let stage = try CommandStage()
      try await stage.server.set("lifetime=0")
      #expect(try stage.run("login").status == 0)
      try await stage.server.set("lifetime=3600")
      let start = ContinuousClock.now
      let outcome = try stage.tool.run(
        """
        for i in $(seq 50); do
          session-tools token --store store --service mail --timeout 300 >token.$i 2>complaint.$i &
          pids="$pids $!"
        done
        for pid in $pids; do wait $pid || echo failed; done
        cat complaint.* >&2; cat token.* | sort | uniq -c
        """)
      let fields = outcome.text.split(whereSeparator: \.isWhitespace).map(String.init)
      #expect(fields.count == 2 && fields.first == "50", "\(outcome.text) \(outcome.complaint)")
      let counts = try await stage.server.counts()
      #expect(counts.refreshes == 1 && counts.reuses == 0 && counts.rejected == 0)
      #expect(try await stage.server.status(with: fields.last ?? "") == 200)
      print("50 processes printed one token after one refresh, in \(ContinuousClock.now - start)")
      #expect(try stage.items() == ["login"], "nothing else is left")
    }
  }
}
