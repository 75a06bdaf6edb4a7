import SessionToolsDatabaseServer
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

@Suite(.onOwnThread) struct DatabaseTranscriptTests {
  private static let all = Transcript.all(of: "DatabaseCommandTests")
  private static let pooler = Task { try await Pooler(of: .withRoles()) }

  @Test(arguments: all)
  func answersAsWritten(_ transcript: Transcript) async throws {
    let pooler = try await Self.pooler.value
    let stage = try await DatabaseTool(
      on: .withRoles(), database: transcript.description)
    var environment = stage.environment
    environment["POOLER"] = stage.address(user: "postgres", port: pooler.port)
    let names = stage.names + [("\(pooler.port)", "[POOLER]")]
    let replayed = try transcript.replayed(by: stage.tool, environment: environment, naming: names)
    if Transcript.isBeingUpdated { return try transcript.replace(with: replayed) }
    #expect(replayed == transcript.lines)
  }

  @Test func thereAreTranscripts() {
    #expect(Self.all.count >= 8)
  }
}
