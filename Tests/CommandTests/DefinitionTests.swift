import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// What is true of the definitions of all commands.
@Suite(.onOwnThread) struct DefinitionTests {
  @Test func `no command is ambiguous`() throws {
    #expect(try CommandDefinition.mistakes(of: "session-tools", Tool()).isEmpty)
  }
}
