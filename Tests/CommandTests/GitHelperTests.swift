import Foundation
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// git with the tool as its helper, configured as the article says.
@Suite(.onOwnThread) struct GitHelperTests {
  private let tool: Tool
  private let environment = ["GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1"]

  init() throws {
    tool = try Tool()
    try OtherProgramsArticle.write("~/.gitconfig", for: tool)
    try #require(try tool.run("session-tools init ~/vault").status == 0)
  }

  private func git(_ command: String, _ attributes: String...) throws -> Tool.Outcome {
    let lines = attributes.map { "'\($0)'" }.joined(separator: " ")
    return try tool.run(
      "printf '%s\\n' \(lines) | git \(command)", environment: environment)
  }

  private func names() throws -> [String] {
    try tool.run("session-tools list ~/vault").text.split(separator: "\n").map(String.init)
  }

  @Test func gitKeepsFindsAndRejectsACredential() throws {
    let site = ["protocol=https", "host=example.com:8443"]
    #expect(try git("credential fill", site[0], site[1]).status == 128)
    let approved = try git(
      "credential approve", site[0], site[1], "username=me", "password=p w=\u{fc}")
    #expect(approved.status == 0 && approved.complaint.isEmpty, "\(approved.complaint)")
    #expect(try names() == ["git\t\t\thttps://me@example.com:8443"])
    let filled = try git("credential fill", site[0], site[1])
    #expect(filled.text.contains("username=me\npassword=p w=\u{fc}\n"))
    // Another host, another port, and another user.
    #expect(try git("credential fill", site[0], "host=example.com").status == 128)
    #expect(try git("credential fill", site[0], site[1], "username=you").status == 128)

    // A newer password than the one that was rejected stays.
    try #require(
      try git("credential reject", site[0], site[1], "username=me", "password=old").status == 0)
    #expect(try names().count == 1)
    try #require(
      try git("credential reject", site[0], site[1], "username=me", "password=p w=\u{fc}").status
        == 0)
    #expect(try names().isEmpty)
    #expect(try git("credential fill", site[0], site[1]).status == 128)
  }

  @Test func thePathCountsWhenGitSendsIt() throws {
    let withPath = "-c credential.useHttpPath=true credential"
    for (path, password) in [("a/b.git", "p1"), ("c.git", "p2")] {
      let approved = try git(
        "\(withPath) approve", "protocol=https", "host=example.com", "path=\(path)", "username=me",
        "password=\(password)")
      #expect(approved.status == 0)
    }
    #expect(
      try names() == [
        "git\t\t\thttps://me@example.com/a/b.git", "git\t\t\thttps://me@example.com/c.git",
      ])
    let filled = try git("\(withPath) fill", "protocol=https", "host=example.com", "path=c.git")
    #expect(filled.text.contains("password=p2\n"))
    #expect(
      try git("\(withPath) fill", "protocol=https", "host=example.com", "path=d.git").status == 128)
  }

  @Test func aStoreThatDoesNotOpenIsNotOneWithoutTheCredential() throws {
    try #require(try tool.run("rm -r data/session-tools/keys").status == 0)
    let filled = try git("credential fill", "protocol=https", "host=example.com")
    #expect(filled.status == 128)
    #expect(filled.complaint.contains("no key was given"))
    #expect(filled.complaint.contains("told us to quit"))
    #expect(!filled.complaint.contains("prompts disabled"))
  }

  @Test func aCloneOverHTTPTakesThePasswordFromTheStoreAndKeepsIt() throws {
    let made = try tool.run(
      """
      git init -q work && cd work && git config user.name me && git config user.email me@example
      git commit -q --allow-empty -m first && git clone -q --bare . ../site/repository.git
      cd ../site/repository.git && git update-server-info
      """, environment: environment)
    try #require(made.status == 0, "\(made.complaint)")
    let cloned = try tool.run(
      besideServerOf: "site",
      """
      printf pw | session-tools set ~/vault --service git "http://me@127.0.0.1:$port" || exit
      session-tools verify ~/vault > before
      git clone -q "http://127.0.0.1:$port/repository.git" clone || exit
      session-tools verify ~/vault > after
      cmp before after || exit
      printf wrong | session-tools set ~/vault --service git "http://me@127.0.0.1:$port"
      ! git clone -q "http://127.0.0.1:$port/repository.git" other
      """, environment: environment)
    #expect(cloned.status == 0, "\(cloned.complaint)")
    #expect(FileManager.default.fileExists(atPath: tool["clone/.git"]))
    #expect(!FileManager.default.fileExists(atPath: tool["other/.git"]))
    // git has had the wrong one removed.
    #expect(try names().isEmpty)
  }

  @Test func aLinkIsAHelperByItsName() throws {
    let linked = try tool.run(
      """
      mkdir bin && ln -s '\(Tool.program)' bin/git-credential-session-tools
      git config --global --replace-all credential.helper session-tools
      printf pw | session-tools set ~/vault --service git https://me@example.com
      export PATH="$PWD/bin:$PATH" SESSION_TOOLS_STORE=~/vault
      printf 'protocol=https\\nhost=example.com\\n' | git credential fill
      """, environment: environment)
    #expect(linked.text.contains("password=pw\n"), "\(linked.complaint)")
  }
}
