import Foundation
import SessionToolsOAuthTestSupport
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// The program of the article about web services, with a server and a person.
@Suite(.onOwnThread) struct WebServiceArticleTests {
  static let article = ReadmeTests.file(
    "Sources/OAuthLogin/OAuthLogin.docc/AWebServiceThatLogsPeopleIn.md")

  /// Calls one route, and prints the answer.
  private static let driver = """

    let arguments = CommandLine.arguments
    let routes = try loginRoutes(secret: SecretBytes(utf8: ""), keyFile: arguments[1])
    let request = Request(query: arguments[3], cookies: Array(arguments.dropFirst(4)))
    let response =
      arguments[2] == "begin" ? await routes.begin(request) : await routes.callback(request)
    print("status: \\(response.status)")
    for header in response.headers { print("\\(header.name): \\(header.value)") }

    """

  @Test func `its routes have less than 40 lines`() throws {
    let program = try #require(ReadmeTests.blocks("swift", in: Self.article).first)
    let routes = try #require(
      program.components(separatedBy: "struct LoginRoutes").last?
        .components(separatedBy: "\nfunc loginRoutes").first)
    #expect(routes.split(separator: "\n").count < 40)
  }

  /// Each route is called in a process of its own, as on two machines.
  @Test func `logs a person in, and says nothing of it to others`() async throws {
    let server = try AuthlibServer()
    var text = try #require(ReadmeTests.blocks("swift", in: Self.article).first)
    for (shown, used) in [
      ("https://login.example.com", server.address), (#"clientID: "inbox""#, #"clientID: "app""#),
      (".basic(secret: secret)", ".none"),
      ("https://inbox.example.com/login/callback", "https://app.example/callback"),
    ] {
      try #require(text.components(separatedBy: shown).count == 2, "\(shown) is there once")
      text = text.replacing(shown, with: used)
    }
    let program = try ArticleProgram(text + Self.driver)
    let directory = try TemporaryDirectory()
    let key = directory["key"]
    try Data(repeating: 5, count: 32).write(to: URL(filePath: key))
    func call(_ route: String, _ query: String = "", _ cookies: String...) throws -> [String] {
      let outcome = try Program.outcome(of: [program.path, key, route, query] + cookies)
      #expect(outcome.status == 0, "\(outcome.complaint)")
      return outcome.text.split(separator: "\n").map(String.init)
    }
    func values(_ name: String, in lines: [String]) -> [String] {
      lines.filter { $0.hasPrefix(name + ": ") }.map { String($0.dropFirst(name.count + 2)) }
    }

    let begun = try call("begin")
    #expect(begun.contains("status: 303"))
    let address = try #require(values("Location", in: begun).first)
    let cookie = try #require(values("Set-Cookie", in: begun).first?.split(separator: ";").first)
    let place = try await Program.run(
      "/usr/bin/curl",
      [
        "--silent", "--output", "/dev/null", "--write-out", "%{redirect_url}", "--data",
        "user=ada&password=open+sesame&answer=allow", address,
      ], environment: [:])
    let query = String(place.split(separator: "?", maxSplits: 1)[1])

    let stranger = try call("callback", query)
    #expect(stranger.contains("status: 400") && values("Set-Cookie", in: stranger).isEmpty)
    let finished = try call("callback", query, "a=b; \(cookie)")
    #expect(finished.contains("status: 303"))
    #expect(values("Location", in: finished) == ["/inbox"])
    #expect(values("Cache-Control", in: finished) == ["no-store"])
    #expect(values("Referrer-Policy", in: finished) == ["no-referrer"])
    let cookies = values("Set-Cookie", in: finished)
    #expect(cookies.count == 2 && cookies[0].hasPrefix("__Host-session="))
    #expect(cookies[1].hasSuffix("Max-Age=0"))
    let again = try call("callback", query, String(cookie))
    #expect(again.contains("status: 400"), "the code is spent")
    for secret in query.split(separator: "&").map({ String($0.split(separator: "=")[1]) })
    where secret.utf8.count > 30 {
      #expect(!(stranger + again).joined().contains(secret))
    }
  }
}
