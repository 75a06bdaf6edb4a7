import SessionToolsSoftwareKeys
import SessionToolsTestThreads
import Testing

@Suite(.onOwnThread) struct WrongPINTests {
  @Test func `a wrong PIN costs a try and the right one gives them back`() async throws {
    let (stage, key) = (try KeyStage(), try SoftwareKey())
    _ = try await stage.run("enroll:1234", with: [key])
    let lines = try await stage.run("open:0000", "open:1234", "open:", with: [key])
    #expect(
      lines.filter { !$0.hasPrefix("touch") } == [
        "PIN? label 'Ada's', Software Key, 8 left",
        "open: wrongKey: key slot 2 (Ada's): the PIN is wrong, 7 tries left",
        "PIN? label 'Ada's', Software Key, 7 left", "open: ok",
        "PIN? label 'Ada's', Software Key, 8 left",
        "open: promptDismissed: key slot 2 (Ada's): the question for its PIN was dismissed",
      ])
  }

  @Test func `three in a row block the key until it is plugged in again and eight for good`()
    async throws
  {
    let (stage, key) = (try KeyStage(), try SoftwareKey())
    _ = try await stage.run("enroll:1234", with: [key])
    let paused =
      "open: keyBlocked: key slot 2 (Ada's): the key accepts no PIN for now, after three wrong "
      + "ones in a row, 5 tries left"
    let wrong = ["open:0000", "open:0000", "open:0000", "open:1234"]
    let lines = try await stage.run(wrong[0], wrong[1], wrong[2], wrong[3], with: [key])
    #expect(
      lines.filter { $0.hasPrefix("open") } == [
        "open: wrongKey: key slot 2 (Ada's): the PIN is wrong, 7 tries left",
        "open: wrongKey: key slot 2 (Ada's): the PIN is wrong, 6 tries left", paused, paused,
      ])
    try key.behave(.init(plugged: 2))
    _ = try await stage.run("open:0000", "open:0000", "open:0000", with: [key])
    try key.behave(.init(plugged: 3))
    let last = try await stage.run("open:0000", "open:0000", "open:1234", with: [key])
    let blocked =
      "open: keyBlocked: key slot 2 (Ada's): the key accepts no PIN any more, after too many wrong "
      + "ones"
    #expect(
      last.filter { !$0.hasPrefix("touch") } == [
        "PIN? label 'Ada's', Software Key, 2 left",
        "open: wrongKey: key slot 2 (Ada's): the PIN is wrong, 1 try left",
        "PIN? label 'Ada's', Software Key, 1 left",
        // No one is asked for a PIN that cannot be right.
        blocked, blocked,
      ])
    #expect(key.count("wrong PIN") == 8)
  }

  @Test(arguments: [
    (0x31, "wrongKey: key slot 2 (Ada's): the PIN is wrong, 8 tries left"),
    (
      0x32,
      "keyBlocked: key slot 2 (Ada's): the key accepts no PIN any more, after too many wrong ones"
    ),
    (
      0x33,
      "unavailable: key slot 2 (Ada's): the key does not accept what was agreed with it "
        + "(FIDO_ERR_PIN_AUTH_INVALID)"
    ),
    (
      0x34,
      "keyBlocked: key slot 2 (Ada's): the key accepts no PIN for now, after three wrong ones in a "
        + "row, 8 tries left"
    ),
    (0x35, "invalidKey: key slot 2 (Ada's): the key has no PIN and knows no finger"),
    (0x37, "invalidKey: key slot 2 (Ada's): the key wants another PIN before it is used"),
  ])
  func `only what the key calls a wrong PIN is one`(status: Int, outcome: String) async throws {
    let (stage, key) = (try KeyStage(), try SoftwareKey())
    _ = try await stage.run("enroll:1234", with: [key])
    try key.behave(.init(refusesPIN: status))
    let lines = try await stage.run("open:1234", with: [key])
    #expect(lines.last == "open: \(outcome)")
    #expect(lines.filter { $0.hasPrefix("PIN?") }.count == 1)
  }

  @Test func `a blocked key does not keep another one from opening its slot`() async throws {
    let (stage, key, other) = (try KeyStage(), try SoftwareKey(), try SoftwareKey(pin: "9876"))
    _ = try await stage.run("enroll:1234", "open:0000", "open:0000", "open:0000", with: [key])
    _ = try await stage.run("enroll:9876", with: [other])
    #expect(try await stage.run("open:9876", with: [key, other]).last == "open: ok")
    #expect(key.count("wrong PIN") == 3)
  }

  @Test func `no key is asked for the PIN of another`() async throws {
    let (stage, key, other) = (try KeyStage(), try SoftwareKey(), try SoftwareKey(pin: "9876"))
    _ = try await stage.run("enroll:1234", with: [key])
    for key in [key, other] { try key.behave(.init(alwaysAsks: true)) }
    #expect(
      try await stage.run("open:1234", with: [other, key]) == [
        "open: unavailable: key slot 2 (Ada's): several security keys are plugged in that may be "
          + "its key: Software Key, Software Key"
      ])
    #expect(other.count("wrong PIN") == 0)
  }

  @Test func `a revocation fails at a wrong PIN and keeps the slot`() async throws {
    let (stage, key) = (try KeyStage(), try SoftwareKey())
    _ = try await stage.run("enroll:1234", "enroll-touch:1234", with: [key])
    let header = try stage.header
    let lines = try await stage.run("revoke:0000", with: [key])
    #expect(
      lines.last == "revoke: wrongKey: key slot 2 (Ada's): the PIN is wrong, 7 tries left")
    #expect(try stage.header == header)
  }

  @Test func `a wrong PIN is not tried at the next slot`() async throws {
    let (stage, key) = (try KeyStage(), try SoftwareKey())
    _ = try await stage.run("enroll:1234", "enroll:1234", "open:0000", with: [key])
    #expect(key.count("wrong PIN") == 1)
  }
}
