import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// The tool while another process holds the store's lock.
@Suite(.onOwnThread) struct LockTests {
  private let tool: Tool
  private let lock: Descriptor

  init() throws {
    tool = try Tool()
    try tool.run("session-tools init store; printf 1 | session-tools set store --service s x")
    let fileSystem = LinuxFileSystem()
    lock = try fileSystem.open(tool["store/lock"], in: .workingDirectory, .readWrite)
    // Byte 0 is the writer's lock.
    try #require(try fileSystem.tryLock(lock, byte: 0))
  }

  @Test func aChangeTimesOutAndAReadDoesNot() throws {
    let setting = try tool.run(
      "printf 2 | session-tools set store --timeout 0.1 --service s x")
    #expect(setting.status == 4)
    #expect(setting.complaint.contains("another process has held the lock for too long"))
    #expect(try tool.run("session-tools get store --service s x").text == "1")
  }

  @Test func doctorReportsWhoHoldsIt() throws {
    let outcome = try tool.run("session-tools doctor store | grep -A1 '^problem  lock'")
    #expect(outcome.status == 4)
    #expect(outcome.text.contains("fuser -v store/lock"))
  }
}
