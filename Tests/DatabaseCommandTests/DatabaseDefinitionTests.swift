import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// What is true of the definitions of all commands.
@Suite(.onOwnThread) struct DatabaseDefinitionTests {
  @Test func `no command is ambiguous`() throws {
    #expect(try CommandDefinition.mistakes(of: "session-tools-database", Tool()).isEmpty)
  }
}
