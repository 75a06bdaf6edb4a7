import Foundation
import SessionToolsOAuthTestSupport
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// The programs of the article *One login for many programs*, as it shows them, with one login.
@Suite(.onOwnThread) struct SharedLoginTests {
  private static let programs = ["me", "report", "watch-mail", "agent", "check"]

  /// Writes the programs into a directory of the path, with the server's address in them.
  private func install(_ tool: Tool, _ server: AuthlibServer) throws {
    let article = try Article("OneLoginForManyPrograms")
    try FileManager.default.createDirectory(
      atPath: tool["bin"], withIntermediateDirectories: true)
    for program in Self.programs {
      let text = try article.file("~/bin/\(program)")
      #expect(text.contains("https://api.example.com/me"))
      try text.replacing("https://api.example.com", with: server.address)
        .write(toFile: tool["bin/\(program)"], atomically: false, encoding: .utf8)
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o755], ofItemAtPath: tool["bin/\(program)"])
    }
  }

  /// Programs run, and are killed at random, until the time is over.
  private static let script = """
    export SESSION_TOOLS_STORE=$PWD/store PATH=$PWD/bin:$PATH RANDOM=$SEED
    kills=0 rounds=0 end=$((SECONDS + DURATION))
    while [ $SECONDS -lt $end ]; do
      pids=
      for program in me report agent check; do
        setsid $program >>out.$program 2>>complaints & pids="$pids $!"
      done
      # The one that runs on, which is started again when it was killed.
      kill -0 $watch 2>/dev/null || { setsid watch-mail >>out.watch-mail 2>>complaints & watch=$!; }
      sleep 0.$(printf %02d $((RANDOM % 60)))
      victims=($pids $watch)
      victim=${victims[RANDOM % 5]}
      # In its own group, so that the tool is killed with it, wherever it is.
      kill -KILL -- -$victim 2>/dev/null && kills=$((kills + 1))
      for pid in $pids; do
        wait $pid
        status=$?
        [ $status = 0 ] || [ $pid = $victim ] || echo "$pid ended with $status"
      done
      rounds=$((rounds + 1))
    done
    kill -KILL -- -$watch 2>/dev/null
    echo "$rounds $kills"
    """

  @Test func `five programs in four languages share a login while they are killed`() async throws {
    let server = try AuthlibServer()
    let tool = try Tool()
    try install(tool, server)
    // The tool refreshes a minute before the end, or at half of the time. A refresh of which the
    // answer was lost may be made again, as at most servers.
    let isLarge = TestSize.current == .large
    let lifetime = isLarge ? 300 : 8
    try await server.set("lifetime=\(lifetime)&grace=1")
    try tool.run("session-tools init store")
    let chromium = try Chromium.shared()
    let login = try tool.run(
      "session-tools login --issuer \(server.address) --client-id app --store store --service api",
      environment: chromium.environment(.allow))
    #expect(login.status == 0, "\(login.complaint)")
    let begin = ContinuousClock.now
    try Self.script.write(toFile: tool["script"], atomically: false, encoding: .utf8)
    let outcome = try tool.run(
      "bash script",
      environment: ["SEED": "1", "DURATION": isLarge ? "1800" : "20"])
    let seconds = (ContinuousClock.now - begin) / .seconds(1)
    let complaints = try tool.run("cat complaints").text
    let counts = try await server.counts()
    print("shared login:", outcome.text.split(separator: "\n"), "in \(Int(seconds)) s", counts)
    let numbers = outcome.text.split { " \n".contains($0) }.compactMap { Int($0) }
    try #require(numbers.count == 2, "\(outcome.text)\n\(complaints)")
    let (rounds, kills) = (numbers[0], numbers[1])
    #expect(rounds > 2 && counts.refreshes > 0)
    // A token is not refreshed earlier, and once; but again when the program that did was killed.
    let kept = Double(lifetime) - min(60, Double(lifetime) / 2)
    #expect(Double(counts.refreshes) <= seconds / kept + 1 + Double(kills))
    #expect(counts.reuses == 0 && counts.rejected == 0)
    for program in Self.programs {
      let output = try tool.run("cat out.\(program)").text
      #expect(output.contains("name"), "\(program): \(complaints)")
    }
    // No one was signed out.
    #expect(try tool.run("session-tools token --store store --service api").status == 0)
  }
}
