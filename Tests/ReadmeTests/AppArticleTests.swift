import Foundation
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// The program of the article about an app, with its part behind a gate.
@Suite(.onOwnThread) struct AppArticleTests {
  static let blocks = ReadmeTests.blocks(
    "swift",
    in: ReadmeTests.file("Sources/SessionTools/SessionTools.docc/AnAppThatSignsIn.md"))

  @Test func `the app reports that no one is signed in, and makes nothing`() throws {
    try #require(Self.blocks.count == 2)
    let app = try ArticleProgram(Self.blocks.joined(separator: "\n"))
    let place = try Tool()
    let state = try place.run("\(app.path) state")
    #expect(state.status == 0, "\(state.complaint)")
    #expect(state.text == "Signed out. Log in.\n")

    let inbox = try place.run("\(app.path) inbox")
    #expect(inbox.status == 1)
    #expect(inbox.text == "session login: no user is signed in.\n")

    let names = try FileManager.default.subpathsOfDirectory(atPath: place.path)
    #expect(names == ["home"], "neither a keychain nor a key was made")
  }

  @Test func `the app compiles without its part behind a gate`() throws {
    _ = try ArticleProgram(try #require(Self.blocks.first))
  }
}
