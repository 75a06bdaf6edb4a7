import SoftwareKeys
import TestThreads
import Testing

@Suite(.onOwnThread) struct WrongPINTests {
  @Test func `a wrong PIN costs a try and the right one gives them back`() async throws {
    let (stage, key) = (try KeyStage(), try SoftwareKey())
    _ = try await stage.run("enroll:1234", with: [key])
    let lines = try await stage.run("open:0000", "open:1234", "open:", with: [key])
    #expect(
      lines.filter { !$0.hasPrefix("touch") } == [
        "PIN? label 'Ada's', Software Key, 8 left",
        "open: wrongKey: the PIN is wrong, 7 tries left",
        "PIN? label 'Ada's', Software Key, 7 left", "open: ok",
        "PIN? label 'Ada's', Software Key, 8 left",
        "open: promptDismissed: the question for its PIN was dismissed",
      ])
  }

  @Test func `three in a row block the key until it is plugged in again and eight for good`()
    async throws
  {
    let (stage, key) = (try KeyStage(), try SoftwareKey())
    _ = try await stage.run("enroll:1234", with: [key])
    let paused = "open: keyBlocked: the key accepts no PIN for now, after three wrong ones in a row"
    let wrong = ["open:0000", "open:0000", "open:0000", "open:1234"]
    let lines = try await stage.run(wrong[0], wrong[1], wrong[2], wrong[3], with: [key])
    #expect(
      lines.filter { $0.hasPrefix("open") } == [
        "open: wrongKey: the PIN is wrong, 7 tries left",
        "open: wrongKey: the PIN is wrong, 6 tries left", paused, paused,
      ])
    try key.behave(.init(plugged: 2))
    _ = try await stage.run("open:0000", "open:0000", "open:0000", with: [key])
    try key.behave(.init(plugged: 3))
    let last = try await stage.run("open:0000", "open:0000", "open:1234", with: [key])
    #expect(
      last.filter { !$0.hasPrefix("touch") } == [
        "PIN? label 'Ada's', Software Key, 2 left", "open: wrongKey: the PIN is wrong, 1 try left",
        "PIN? label 'Ada's', Software Key, 1 left",
        "open: keyBlocked: the key accepts no PIN any more, after too many wrong ones",
        // No one is asked for a PIN that cannot be right.
        "open: keyBlocked: the key accepts no PIN any more, after too many wrong ones",
      ])
    #expect(key.count("wrong PIN") == 8)
  }

  @Test func `a wrong PIN is not tried at the next slot`() async throws {
    let (stage, key) = (try KeyStage(), try SoftwareKey())
    _ = try await stage.run("enroll:1234", "enroll:1234", "open:0000", with: [key])
    #expect(key.count("wrong PIN") == 1)
  }
}
