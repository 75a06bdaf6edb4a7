import Foundation
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// The programs of the articles for people who come from other libraries.
@Suite(.onOwnThread) struct PortingArticleTests {
  private static func blocks(_ article: String) -> [String] {
    ReadmeTests.blocks(
      "swift", in: ReadmeTests.file("Sources/SessionTools/SessionTools.docc/\(article).md"))
  }

  /// In Swift 6, and where a target is MainActor by default.
  @Test(arguments: [[], ["-default-isolation", "MainActor"]])
  func `a program that comes from iOS-SessionTools runs`(_ options: [String]) throws {
    let block = try #require(Self.blocks("ComingFromIOSSessionTools").first)
    let program = try ArticleProgram(block, options: options)
    let place = try Tool()
    let outcome = try place.run(program.path)
    #expect(outcome.status == 0, "\(outcome.complaint)")
    #expect(outcome.text == "signed in\nhas a new token\ntoken: second\nsigned out\n")
  }

  @Test func `a program that comes from KeychainAccess runs`() throws {
    let block = try #require(Self.blocks("ComingFromKeychainAccess").first)
    let program = try ArticleProgram(
      block + "\nprint(token ?? \"none\", profile?.name ?? \"none\")\n")
    let place = try Tool()
    let outcome = try place.run(program.path)
    #expect(outcome.status == 0, "\(outcome.complaint)")
    #expect(outcome.text == "octocat is stored\n01234567-89ab-cdef Ada\n")
  }

  /// What cannot be kept as promised is not accepted in silence.
  @Test(arguments: [
    ("Keychain()", "name the service"),
    ("Keychain(accessGroup: \"group\")", "name the service"),
    ("keychain.accessibility(.afterFirstUnlock)", "Keychain(service:protection:)"),
    (
      "keychain.accessibility(.whenUnlocked, authenticationPolicy: .userPresence)",
      "AuthenticationGate"
    ),
    ("keychain.synchronizable(true)", "SealedDatabaseStore"),
    ("keychain.authenticationPrompt(\"Why\")", "AuthenticationGate"),
    ("keychain.label(\"text\")", "leave it out"),
    ("keychain.comment(\"text\")", "leave it out"),
    ("keychain[attributes: \"key\"]", "Codable"),
    ("keychain.allItems()", "keys()"),
    ("try keychain.get(\"key\", ignoringAttributeSynchronizable: true)", "leave the argument out"),
    ("keychain.allKeys()", "locked keychain"),
    (
      "Keychain(server: \"a\", protocolType: .https, authenticationType: .htmlForm)",
      "authentication type"
    ),
    ("Keychain.generatePassword()", "session-tools generate"),
    ("SealedFileStore(path: \"/store\", key: KeyFile(\"/key\"))", "SealedFileStore.open(at:key:)"),
  ])
  func `what has no counterpart is refused with what to write`(
    _ call: String, _ remedy: String
  ) throws {
    let outcome = try ReadmeTests.typecheck(
      "import SessionTools\nlet keychain = Keychain(service: \"mail\")\n_ = \(call)\n")
    #expect(outcome.status != 0)
    #expect(outcome.output.contains(remedy), "\(outcome.output)")
  }
}
