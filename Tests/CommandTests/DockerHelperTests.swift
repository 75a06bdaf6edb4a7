import Foundation
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Docker's own client with the tool as its helper, configured as the article says.
@Suite(.onOwnThread) struct DockerHelperTests {
  private let tool: Tool

  init() throws {
    tool = try Tool()
    try OtherProgramsArticle.write("~/.docker/config.json", for: tool)
    let made = try tool.run(
      """
      mkdir bin && ln -s '\(Tool.program)' bin/docker-credential-session-tools
      session-tools init ~/vault
      """)
    try #require(made.status == 0)
  }

  @Test func dockerLogsInWithWhatIsStoredAndOutAgain() throws {
    // Without a daemon, the client itself asks the registry.
    let outcome = try tool.run(
      besideServerOf: "registry",
      """
      printf wrong | docker login -u me --password-stdin 127.0.0.1:$port && exit 1
      session-tools list ~/vault
      printf pw | docker login -u me --password-stdin 127.0.0.1:$port || exit
      session-tools list ~/vault
      session-tools get ~/vault --service docker me@127.0.0.1:$port; echo
      docker login 127.0.0.1:$port < /dev/null
      docker logout 127.0.0.1:$port || exit
      session-tools list ~/vault
      cat ~/.docker/config.json
      echo "port $port"
      """,
      environment: [
        "PATH": "\(tool["bin"]):\(BuildDirectory.path):/usr/local/bin:/usr/bin:/bin",
        "SESSION_TOOLS_STORE": tool["home/vault"], "DOCKER_HOST": "unix:///nothing/docker.sock",
      ])
    #expect(outcome.status == 0, "\(outcome.complaint)")
    let port = try #require(outcome.text.split(separator: "port ").last).dropLast()
    let names = outcome.text.split(separator: "\n").filter { $0.hasPrefix("docker\t") }
    #expect(names == ["docker\t\t\tme@127.0.0.1:\(port)"], "\(outcome.text)")
    #expect(outcome.text.contains("\npw\n"))
    // The client of Debian 12 writes this to standard output, later ones to standard error.
    #expect((outcome.text + outcome.complaint).contains("Authenticating with existing credentials"))
    #expect(!outcome.text.contains(#""auth":"#), "no password is in the configuration")
  }
}
