import SealedStore
import SessionToolsSoftwareKeys
import SessionToolsTestThreads
import Testing

@Suite(.onOwnThread) struct EnrollingTests {
  @Test func `a new slot takes two touches and opens with one`() async throws {
    let (stage, key) = (try KeyStage(), try SoftwareKey())
    let question = "PIN? label 'Ada's', Software Key, 8 left"
    #expect(
      try await stage.run("enroll:1234", "open:1234", with: [key]) == [
        question, "touch", "touch", "enroll: ok", question, "touch", "open: ok",
      ])
    #expect(key.count("make credential") == 1)
    #expect(key.count("assertion") == 2)
    let slots = try SealedFileStore.keySlots(at: stage.path)
    #expect(
      slots.map { $0.parameters?.description } == [
        "key file", "security key (Ada's; PIN or fingerprint, and touch)",
      ])
  }

  @Test func `a key without a PIN is not enrolled for one`() async throws {
    let (stage, key) = (try KeyStage(), try SoftwareKey(pin: ""))
    let header = try stage.header
    #expect(
      try await stage.run("enroll:1234", with: [key]) == [
        "enroll: invalidKey: the key has no PIN and knows no finger"
      ])
    #expect(try stage.header == header)
    #expect(key.log.isEmpty)
  }

  @Test func `a slot for a touch alone asks for no PIN when it is opened`() async throws {
    let (stage, key) = (try KeyStage(), try SoftwareKey(pin: ""))
    #expect(
      try await stage.run("enroll-touch:", "open:", with: [key]) == [
        "touch", "touch", "enroll-touch: ok", "touch", "open: ok",
      ])
  }

  @Test func `a key with a PIN asks for it to make a slot for a touch alone`() async throws {
    let (stage, key) = (try KeyStage(), try SoftwareKey())
    #expect(
      try await stage.run("enroll-touch:1234", "open:", with: [key]) == [
        "PIN? label 'touched', Software Key, 8 left", "touch", "touch", "enroll-touch: ok",
        "touch", "open: ok",
      ])
  }

  /// Each has a secret of its own, although they are slots of one key: with the PIN in one of them
  /// only, both open.
  @Test func `both kinds of slots of one key open`() async throws {
    let (stage, key) = (try KeyStage(), try SoftwareKey())
    let both = ["enroll:1234", "enroll-touch:1234", "open:1234"]
    let lines = try await stage.run(both[0], both[1], both[2], with: [key])
    #expect(lines.last == "open: ok")
    let store = try SealedFileStore.open(at: stage.path, key: stage.keyFile)
    try store.removeSlot(2)
    #expect(try await stage.run("open:", with: [key]) == ["touch", "open: ok"])
  }

  @Test(arguments: [
    ("no presence", "not touched, verified, 32 bytes"),
    ("no verification", "touched, not verified, 32 bytes"),
    ("long secret", "touched, verified, 64 bytes"),
  ])
  func `an answer to another question makes no slot`(answer: String, finding: String) async throws {
    let (stage, key) = (try KeyStage(), try SoftwareKey(.init(answer: answer)))
    let header = try stage.header
    let last = try await stage.run("enroll:1234", with: [key]).last
    #expect(
      last == "enroll: unavailable: the security key did not answer as it was asked: \(finding)")
    #expect(try stage.header == header)
  }

  /// The secret would be another one on the day the key stops to verify unasked.
  @Test func `a key that verifies unasked makes no slot for a touch alone`() async throws {
    let (stage, key) = (try KeyStage(), try SoftwareKey(.init(answer: "always verified")))
    let last = try await stage.run("enroll-touch:1234", with: [key]).last
    #expect(last?.contains("touched, verified, 32 bytes") == true)
  }

  @Test func `a key that always asks makes no slot for a touch alone`() async throws {
    let (stage, key) = (try KeyStage(), try SoftwareKey(.init(alwaysAsks: true)))
    let last = try await stage.run("enroll-touch:1234", with: [key]).last
    #expect(last == "enroll-touch: invalidKey: the key always asks for its PIN or a finger")
  }

  @Test func `only one key may be plugged in for a new slot`() async throws {
    let (stage, keys) = (try KeyStage(), [try SoftwareKey(), try SoftwareKey()])
    #expect(
      try await stage.run("enroll:1234", with: keys) == [
        "enroll: keyMissing: several security keys are plugged in: Software Key, Software Key"
      ])
    #expect(
      try await stage.run("enroll:1234", with: []) == [
        "enroll: keyMissing: no security key is plugged in"
      ])
    try keys[0].behave(.init(answer: "no secrets"))
    #expect(
      try await stage.run("enroll:1234", with: [keys[0]]) == [
        "enroll: keyMissing: what is plugged in computes no secrets (hmac-secret): Software Key"
      ])
    #expect(try await stage.run("enroll:1234", with: keys).last == "enroll: ok")
  }
}
