import Foundation
import SessionToolsOAuthTestSupport
import SessionToolsBase
import SessionToolsTesting
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing
import WebLogin

extension `one at a time` {
  @Suite struct `a login on another device` {
    /// Performs an act in the browser, as on the other device.
    private func finish(
      _ stage: LoginStage, _ authorization: DeviceAuthorization, _ act: Chromium.Act
    ) async throws {
      let address = try #require(authorization.completeVerificationAddress)
      try await DesktopOpener(environment: stage.chromium.environment(act)).open(address)
    }

    @Test func `gives a credential when the person allows it`() async throws {
      let stage = try LoginStage()
      try await stage.server.set("interval=1")
      let authorization = try await stage.client.authorizeDevice(scopes: ["mail"])
      #expect(authorization.verificationAddress.absoluteString == stage.server.address + "/device")
      #expect(authorization.lifetime == .seconds(1800))
      let ending = Task { try await stage.client.credential(for: authorization) }
      try await wait(until: "it has asked") { try await stage.server.counts().questions > 0 }
      try await finish(stage, authorization, .allow)
      let credential = try await ending.value
      #expect(credential.scopes == ["mail"])
      #expect(try await stage.server.status(with: credential.accessToken) == 200)
    }

    @Test func `is denied when the person denies it`() async throws {
      let stage = try LoginStage()
      try await stage.server.set("interval=1")
      let authorization = try await stage.client.authorizeDevice()
      try await finish(stage, authorization, .deny)
      let error = await #expect(throws: WebLoginError.self) {
        try await stage.client.credential(for: authorization)
      }
      #expect(error?.code == .denied && error?.refusal?.error == "access_denied")
    }
  }
}

/// With a manual clock, so that no test waits.
@Suite struct `the polls of a device` {
  private let clock = ManualClock()
  private let answers: Shared<[OAuthHTTPResponse]>
  private let client: OAuthClient

  init() throws {
    let answers = Shared<[OAuthHTTPResponse]>([])
    self.answers = answers
    client = OAuthClient(
      server: try AuthorizationServer(
        issuer: "https://a.example", authorizationEndpoint: nil,
        tokenEndpoint: "https://a.example/token",
        deviceAuthorizationEndpoint: "https://a.example/device"),
      clientID: "app",
      http: ScriptedHTTP { request in
        guard request.url.path() == "/token" else { return Self.codes }
        guard request.fields["device_code"] == "secret" else { return OAuthHTTPResponse(400) }
        return answers.update { $0.isEmpty ? OAuthHTTPResponse(500) : $0.removeFirst() }
      }, clock: clock)
  }

  private static let codes = OAuthHTTPResponse(
    200,
    """
    {"device_code": "secret", "user_code": "ABCD-EFGH", "verification_uri": "https://a.example/d",
     "expires_in": 120}
    """)
  private static let token = OAuthHTTPResponse(
    200, #"{"access_token": "a", "token_type": "bearer"}"#)

  private static func refusal(_ error: String) -> OAuthHTTPResponse {
    OAuthHTTPResponse(400, #"{"error": "\#(error)"}"#)
  }

  @Test func `wait five seconds longer after each slow_down`() async throws {
    let slowDown = Self.refusal("slow_down")
    answers.update {
      $0 =
        [
          Self.refusal("authorization_pending"), slowDown, slowDown,
          Self.refusal("authorization_pending"),
        ]
        + [Self.token]
    }
    let authorization = try await client.authorizeDevice()
    async let credential = client.credential(for: authorization)
    for (pause, left) in [(5, 4), (5, 3), (10, 2), (15, 1), (15, 0)] {
      await clock.waitForSleeper(within: .seconds(pause))
      clock.advance(by: .seconds(pause) - .milliseconds(1))
      #expect(answers.now.count == left + 1, "it does not poll before")
      clock.advance(by: .milliseconds(1))
    }
    #expect(try await credential.accessToken == "a")
  }

  @Test func `come half as often if the server cannot be reached`() async throws {
    answers.update {
      $0 = [OAuthHTTPResponse(503), OAuthHTTPResponse(429, "", ["Retry-After": "30"]), Self.token]
    }
    let authorization = try await client.authorizeDevice()
    async let credential = client.credential(for: authorization)
    for pause in [5, 10, 30] {
      await clock.waitForSleeper(within: .seconds(pause))
      clock.advance(by: .seconds(pause))
    }
    #expect(try await credential.accessToken == "a")
  }

  /// Something on the way may answer for some time.
  @Test func `go on after answers that are not an authorization server's`() async throws {
    let strange = OAuthHTTPResponse(403, "<html>Log in to the network</html>")
    answers.update { $0 = [strange, OAuthHTTPResponse(302), OAuthHTTPResponse(502), Self.token] }
    let authorization = try await client.authorizeDevice()
    async let credential = client.credential(for: authorization)
    for pause in [5, 10, 20, 40] {
      await clock.waitForSleeper(within: .seconds(pause))
      clock.advance(by: .seconds(pause))
    }
    #expect(try await credential.accessToken == "a")
  }

  @Test func `end when nothing but such answers comes`() async throws {
    answers.update { $0 = Array(repeating: OAuthHTTPResponse(403, "<html>"), count: 9) }
    let authorization = try await client.authorizeDevice()
    let ending = Task { try await client.credential(for: authorization) }
    for pause in [5, 10, 20, 40] {
      await clock.waitForSleeper(within: .seconds(pause))
      clock.advance(by: .seconds(pause))
    }
    let error = await #expect(throws: WebLoginError.self) { try await ending.value }
    #expect(error?.code == .invalidResponse && answers.now.count == 5)
  }

  @Test func `end when the codes have expired`() async throws {
    answers.update { $0 = Array(repeating: Self.refusal("authorization_pending"), count: 100) }
    let authorization = try await client.authorizeDevice()
    let ending = Task { try await client.credential(for: authorization) }
    for _ in 1..<24 {
      await clock.waitForSleeper(within: .seconds(5))
      clock.advance(by: .seconds(5))
    }
    let error = await #expect(throws: WebLoginError.self) { try await ending.value }
    #expect(error?.code == .timedOut)
    #expect(answers.now.count == 77, "it polled 23 times within two minutes")
  }

  @Test(arguments: [
    ("expired_token", WebLoginError.timedOut), ("access_denied", WebLoginError.denied),
    ("authorization_declined", WebLoginError.denied),
    ("invalid_client", WebLoginError.refused), ("invalid_grant", WebLoginError.refused),
  ])
  func `end with the server's error`(_ said: String, _ code: WebLoginError.Code) async throws {
    answers.update { $0 = [Self.refusal(said)] }
    let authorization = try await client.authorizeDevice()
    let ending = Task { try await client.credential(for: authorization) }
    await clock.waitForSleeper(within: .seconds(5))
    clock.advance(by: .seconds(5))
    #expect(await #expect(throws: WebLoginError.self) { try await ending.value }?.code == code)
  }

  @Test func `end at once when the task is cancelled`() async throws {
    let authorization = try await client.authorizeDevice()
    let ending = Task { try await client.credential(for: authorization) }
    await clock.waitForSleeper(within: .seconds(5))
    ending.cancel()
    let error = await #expect(throws: WebLoginError.self) { try await ending.value }
    #expect(error?.code == .cancelled)
    #expect(clock.sleeperCount == 0)
  }

  @Test(arguments: ["\u{1b}[2J", "", "ÄB", String(repeating: "A", count: 65)])
  func `do not begin with a code that no terminal should show`(_ code: String) async throws {
    let text = String(decoding: try JSONEncoder().encode(code), as: UTF8.self)
    let client = OAuthClient(
      server: try AuthorizationServer(
        issuer: "https://a.example", authorizationEndpoint: nil,
        tokenEndpoint: "https://a.example/token",
        deviceAuthorizationEndpoint: "https://a.example/device"), clientID: "app",
      http: ScriptedHTTP { _ in
        OAuthHTTPResponse(
          200,
          """
          {"device_code": "s", "user_code": \(text), "verification_uri": "https://a.example",
           "expires_in": 9}
          """)
      })
    let error = await #expect(throws: WebLoginError.self) { try await client.authorizeDevice() }
    #expect(error?.code == .incompleteResponse)
    #expect(error?.reason.contains("user_code") ?? false)
  }

  private func authorization(
    _ answer: String
  ) async throws(WebLoginError) -> DeviceAuthorization {
    try await OAuthClient(
      server: AuthorizationServer(
        issuer: "https://a.example", authorizationEndpoint: nil,
        tokenEndpoint: "https://a.example/token",
        deviceAuthorizationEndpoint: "https://a.example/device"), clientID: "app",
      http: ScriptedHTTP { _ in OAuthHTTPResponse(200, answer) }
    ).authorizeDevice()
  }

  private static let needed =
    #""device_code": "d", "user_code": "U-1", "verification_uri": "https://a.example""#

  @Test(
    arguments: [
      ("", 900), (#", "expires_in": "600", "interval": "5""#, 600),
      (#", "expires_in": null, "interval": null"#, 900), (#", "expires_in": 0"#, 900),
      (#", "expires_in": -1, "interval": "soon""#, 900), (#", "expires_in": 1e12"#, 86_400),
      (#", "expires_in": {}, "interval": [], "verification_uri_complete": 7"#, 900),
      (#", "verification_uri_complete": "http://a.example/plain""#, 900),
      (#", "error": null, "message": {"a": 1}"#, 900),
    ] as [(String, Int)])
  func `are begun whatever else the answer has`(_ more: String, _ lifetime: Int) async throws {
    let authorization = try await authorization("{\(Self.needed)\(more)}")
    #expect(authorization.lifetime == .seconds(lifetime))
    #expect(authorization.completeVerificationAddress == nil)
  }

  @Test(arguments: [
    (#"{"user_code": "U", "verification_uri": "https://a.example"}"#, "has no device_code"),
    (#"{"device_code": "", "user_code": "U"}"#, "has no device_code"),
    (#"{"device_code": "d", "verification_uri": "https://a.example"}"#, "has no user_code"),
    (
      #"{"device_code": "d", "user_code": "A–B", "verification_uri": "https://a.example"}"#,
      "characters"
    ),
    (#"{"device_code": "d", "user_code": "U"}"#, "has no verification_uri"),
    (
      #"{"device_code": "d", "user_code": "U", "verification_uri": "http://10.0.0.1"}"#,
      "must be an https address"
    ),
    (
      #"{"device_code": "d", "user_code": "U", "verification_uri": "a.example/d"}"#,
      "must be an https address"
    ),
    ("[]", "not an object"), ("<html>", "not JSON"),
  ])
  func `say which field of an answer is wrong`(_ answer: String, _ text: String) async throws {
    let error = await #expect(throws: WebLoginError.self) { try await authorization(answer) }
    #expect("\(try #require(error))".contains(text), "\(String(describing: error))")
    #expect(error?.isTransient == (answer == "<html>"))
  }

  @Test(arguments: [
    "device_code=d&user_code=U-1&verification_uri=https%3A%2F%2Fa.example%2F%23%2Fdevice",
    #"{"device_code": "d", "user_code": "U-1", "verification_uri": "https://a.example/#/device"}"#,
    #"{"device_code": "d", "user_code": "U-1", "verification_url": "https://a.example/#/device "}"#,
  ])
  func `may be for an address with a fragment, in a form as well`(_ answer: String) async throws {
    let authorization = try await authorization(answer)
    #expect(authorization.verificationAddress.absoluteString == "https://a.example/#/device")
    #expect(authorization.userCode == "U-1")
  }

  @Test func `end when the program wants it`() async throws {
    answers.update { $0 = Array(repeating: Self.refusal("authorization_pending"), count: 100) }
    let authorization = try await client.authorizeDevice()
    let ending = Task { try await client.credential(for: authorization, timeout: .seconds(12)) }
    for _ in 1...2 {
      await clock.waitForSleeper(within: .seconds(5))
      clock.advance(by: .seconds(5))
    }
    let error = await #expect(throws: WebLoginError.self) { try await ending.value }
    #expect(error?.code == .timedOut && answers.now.count == 98)
  }

  @Test func `are refused by a server that has no address for them`() async throws {
    let client = OAuthClient(
      server: try AuthorizationServer(
        issuer: "https://a.example", authorizationEndpoint: nil,
        tokenEndpoint: "https://a.example/token"), clientID: "app")
    let error = await #expect(throws: WebLoginError.self) { try await client.authorizeDevice() }
    #expect(error?.code == .missingEndpoint)
  }

  @Test func `are for a code shown as plain text and as a QR code with two rows a line`()
    async throws
  {
    let authorization = try await client.authorizeDevice()
    let plain = await authorization.terminalText(withQRCode: false)
    #expect(
      plain == """
        On another device, open

          https://a.example/d

        and enter the code

          ABCD-EFGH

        """)
    let drawn = await authorization.terminalText()
    #expect(drawn.hasPrefix(plain) && drawn.contains("█ ▄▄▄▄▄ █"))
    #expect("\(authorization)".contains("ABCD") == false)
  }
}
