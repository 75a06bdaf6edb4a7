import Foundation
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

@Suite(.onOwnThread) struct ReadmeTests {
  static let text = file("README.md")

  static func file(_ path: String) -> String {
    (try? String(contentsOfFile: "\(SourceDirectory.path)/\(path)", encoding: .utf8)) ?? ""
  }

  /// Returns the fenced blocks of a language, in order.
  static func blocks(_ language: String, in text: String = text) -> [String] {
    text.components(separatedBy: "```\(language)\n").dropFirst().compactMap { rest in
      rest.components(separatedBy: "\n```").first
    }
  }

  /// The examples of an article; the first stands alone, and the others continue it.
  static let article = blocks("swift", in: file("Sources/OAuthLogin/OAuthLogin.docc/OAuthLogin.md"))

  @Test(arguments: blocks("swift") + article.prefix(1))
  func `a Swift block compiles as it stands`(block: String) throws {
    let compiler = try Self.typecheck(block)
    #expect(compiler.status == 0, "\(compiler.output)")
  }

  /// Of a blocking and an async function of the same name, Swift chooses the blocking one there,
  /// even with `await`.
  @Test func `at the top level of a program, accounts are listed without blocking`() throws {
    let start = """
      import SessionTools
      let accounts = try UserAccounts(
        container: StoreContainer<String>(MemoryStore(), service: "mail"))

      """
    let waiting = try Self.typecheck(start + "print(try await accounts.all().count)")
    #expect(waiting.status == 0, "\(waiting.output)")
    let current = try Self.typecheck(
      start + "if let it = try await accounts.current() { print(it) }")
    #expect(current.status == 0, "\(current.output)")
    let blocking = try Self.typecheck(start + "print(try accounts.all().count)")
    #expect(blocking.status != 0)
    #expect(blocking.output.contains("error: 'async' call"), "\(blocking.output)")
  }

  /// Type-checks a program that consists of one file.
  static func typecheck(_ program: String) throws -> (status: Int32, output: String) {
    let directory = try TemporaryDirectory()
    try program.write(toFile: directory["main.swift"], atomically: false, encoding: .utf8)
    return try run(
      ["swiftc", "-typecheck"] + ArticleProgram.compilerOptions() + [directory["main.swift"]])
  }

  /// Runs a program until it exits; its standard output and standard error are one text.
  static func run(_ command: [String]) throws -> (status: Int32, output: String) {
    let outcome = try Program.outcome(of: command)
    return (outcome.status, outcome.text + outcome.complaint)
  }

  @Test func `the first example has at most 20 lines and stands before line 30`() throws {
    let first = try #require(Self.blocks("swift").first)
    #expect(first.split(separator: "\n", omittingEmptySubsequences: false).count <= 20)
    let before = try #require(Self.text.components(separatedBy: "```swift").first)
    #expect(before.split(separator: "\n", omittingEmptySubsequences: false).count < 30)
  }

  @Test func `there are two commands to start with and one of them runs the tests`() {
    let commands = Self.blocks("sh")
    #expect(commands.count == 2)
    #expect(commands.contains("Tests/run"))
  }

  @Test func `the README has at most 120 lines`() {
    #expect(Self.text.split(separator: "\n", omittingEmptySubsequences: false).count <= 121)
  }
}
