import SessionToolsSoftwareKeys
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

@Suite(.onOwnThread) struct GateTests {
  @Test func `a gate opens only by what the key answers`() async throws {
    let (stage, key) = (try KeyStage(), try SoftwareKey())
    _ = try await stage.run("enroll:1234", with: [key])
    let lines = try await stage.run("gate:0000,1234,1234", with: [key])
    #expect(
      lines.filter { $0 != "Touch your security key" } == [
        "store locked true", "PIN of Ada's (8 tries left): (hidden true, after 0)",
        "PIN of Ada's (7 tries left): (hidden true, after 1)", "store locked false",
        "store locked true", "PIN of Ada's (8 tries left): (hidden true, after 0)",
        "store locked false", "gate: ok",
      ])
    #expect(lines.contains("Touch your security key"))
  }

  @Test func `no one is asked again for the last two tries`() async throws {
    let (stage, key) = (try KeyStage(), try SoftwareKey())
    _ = try await stage.run("enroll:1234", "open:0000", "open:0000", with: [key])
    try key.behave(.init(plugged: 2))
    _ = try await stage.run("open:0000", "open:0000", with: [key])
    try key.behave(.init(plugged: 3))
    let lines = try await stage.run("gate:0000,0000,0000", with: [key])
    #expect(lines.filter { $0.hasPrefix("PIN") }.count == 2)
    #expect(lines.last == "gate: failed: the PIN of the security key was wrong")
    #expect(key.count("wrong PIN") == 6)
  }

  @Test(arguments: [
    ("", "1234", SoftwareKey.Behavior(), "gate: userCancel: the person dismissed the question"),
    (
      "1234", "1234", .init(touch: "refused"),
      "gate: userCancel: key slot 2 (Ada's): the person refused on the key"
    ),
    (
      "1234", "1234", .init(touch: "hangs up"),
      "gate: serviceLost: key slot 2 (Ada's): Software Key does not answer as it should "
        + "(FIDO_ERR_RX)"
    ),
  ])
  func `what happens at the key is the error of the gate`(
    answer: String, pin: String, behavior: SoftwareKey.Behavior, outcome: String
  ) async throws {
    let (stage, key) = (try KeyStage(), try SoftwareKey(pin: pin))
    _ = try await stage.run("enroll:1234", with: [key])
    try key.behave(behavior)
    #expect(try await stage.run("gate:\(answer)", with: [key]).last == outcome)
  }

  @Test func `a blocked key is a lockout and a missing one is not available`() async throws {
    let (stage, key) = (try KeyStage(), try SoftwareKey())
    _ = try await stage.run("enroll:1234", "open:0000", "open:0000", "open:0000", with: [key])
    let last = try await stage.run("gate:1234", with: [key]).last
    #expect(
      last?.hasPrefix("gate: lockout: key slot 2 (Ada's): the key accepts no PIN for now") == true)
    #expect(
      try await stage.run("gate:1234", with: []).last
        == "gate: biometryNotAvailable: key slot 2 (Ada's): its security key is not plugged in")
  }

  @Test func `a cancelled evaluation ends within a second and leaves the store locked`()
    async throws
  {
    let (stage, key) = (try KeyStage(), try SoftwareKey())
    _ = try await stage.run("enroll:1234", with: [key])
    try key.behave(.init(touch: "never"))
    let worker = try stage.start("gate-cancelled:1234", with: [key])
    try await key.waits(times: 3)
    try worker.signal()
    #expect(
      try await worker.end().suffix(2) == [
        "within a second true, locked true",
        "gate-cancelled: appCancel: the program cancelled the authentication",
      ])
    #expect(key.count("cancelled") == 1)
  }

  @Test func `a cancelled evaluation that waits behind another one ends within a second`()
    async throws
  {
    let (stage, key) = (try KeyStage(), try SoftwareKey())
    _ = try await stage.run("enroll:1234", with: [key])
    try key.behave(.init(touch: "never"))
    let worker = try stage.start("gate-behind:1234", with: [key])
    try await key.waits(times: 3)
    try worker.signal()
    #expect(
      try await worker.end().suffix(2) == [
        "within a second true, locked true",
        "gate-behind: appCancel: the program cancelled the authentication",
      ])
  }

  @Test func `a cancelled evaluation does not wait for a prompt that does not notice it`()
    async throws
  {
    let (stage, key) = (try KeyStage(), try SoftwareKey())
    _ = try await stage.run("enroll:1234", with: [key])
    let lines = try await stage.run("gate-deaf", with: [key])
    #expect(
      lines == [
        "PIN of Ada's (8 tries left):", "within a second true, locked true",
        "gate-deaf: appCancel: the program cancelled the authentication",
      ])
  }
}
