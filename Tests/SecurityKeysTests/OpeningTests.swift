import SealedStore
import SecurityKeys
import SessionToolsBase
import SessionToolsSoftwareKeys
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

@Suite(.onOwnThread) struct OpeningTests {
  @Test func `the key that made the slot is asked among several`() async throws {
    let (stage, key, other) = (try KeyStage(), try SoftwareKey(), try SoftwareKey(pin: "9876"))
    _ = try await stage.run("enroll:1234", with: [key])
    let lines = try await stage.run("open:1234", "connected", with: [other, key])
    #expect(lines.suffix(3) == ["open: ok", "1", "connected: ok"])
    #expect(other.log == ["unknown credential", "unknown credential"])
  }

  @Test func `another key is asked for neither a PIN nor a touch`() async throws {
    let (stage, key, other) = (try KeyStage(), try SoftwareKey(), try SoftwareKey())
    _ = try await stage.run("enroll:1234", with: [key])
    for present in [[], [other]] {
      #expect(
        try await stage.run("open:1234", "connected", with: present) == [
          "open: keyMissing: key slot 2 (Ada's): its security key is not plugged in", "0",
          "connected: ok",
        ])
    }
    #expect(other.log == ["unknown credential", "unknown credential"])
  }

  @Test func `a key that answers nothing without its PIN is asked for it`() async throws {
    let (stage, key) = (try KeyStage(), try SoftwareKey())
    _ = try await stage.run("enroll:1234", with: [key])
    try key.behave(.init(alwaysAsks: true))
    #expect(try await stage.run("open:1234", with: [key]).last == "open: ok")
  }

  @Test func `a dismissed question costs no try`() async throws {
    let (stage, key) = (try KeyStage(), try SoftwareKey())
    _ = try await stage.run("enroll:1234", with: [key])
    #expect(
      try await stage.run("open:", "open:123", "open:1234", with: [key]) == [
        "PIN? label 'Ada's', Software Key, 8 left",
        "open: promptDismissed: key slot 2 (Ada's): the question for its PIN was dismissed",
        "PIN? label 'Ada's', Software Key, 8 left",
        "open: wrongKey: key slot 2 (Ada's): the PIN is wrong: PINs have 4 to 63 bytes; this did "
          + "not cost a try",
        "PIN? label 'Ada's', Software Key, 8 left", "touch", "open: ok",
      ])
  }

  @Test func `a reader asks for no PIN until it does not know the finger`() async throws {
    let (stage, key) = (try KeyStage(), try SoftwareKey(.init(reader: true)))
    #expect(
      try await stage.run("enroll:1234", "open:", with: [key]) == [
        "touch", "touch", "enroll: ok", "touch", "open: ok",
      ])
    #expect(key.count("right finger") == 3)
    // The same secret, by the PIN.
    try key.behave(.init(reader: true, finger: "wrong"))
    #expect(
      try await stage.run("open:1234", with: [key]) == [
        "touch", "PIN? label 'Ada's', Software Key, 8 left", "touch", "open: ok",
      ])
    #expect(key.count("wrong finger") == 1)
  }

  @Test func `a blocked reader gives way to the PIN`() async throws {
    let (stage, key) = (try KeyStage(), try SoftwareKey(.init(reader: true)))
    _ = try await stage.run("enroll:1234", with: [key])
    try key.behave(.init(reader: true, finger: "wrong"))
    let lines = try await stage.run("open:", "open:", "open:", "open:1234", with: [key])
    #expect(lines.last == "open: ok")
    #expect(key.count("wrong finger") == 3)
  }

  @Test func `what a person refuses or forgets has its own error`() async throws {
    let (stage, key) = (try KeyStage(), try SoftwareKey(pin: ""))
    _ = try await stage.run("enroll-touch:", with: [key])
    try key.behave(.init(touch: "refused"))
    #expect(
      try await stage.run("open:", with: [key]).last
        == "open: promptDismissed: key slot 2 (touched): the person refused on the key")
    try key.behave(.init(touch: "never"))
    #expect(
      try await stage.run("open:", with: [key], timeout: 5).last
        == "open: timedOut: key slot 2 (touched): the key was not touched in time")
    // It was told that no one waits for it any more.
    try await wait(until: "the key stops waiting") { key.count("cancelled") == 1 }
    try key.behave(.init(touch: "late"))
    #expect(try await stage.run("open:", with: [key]).last == "open: ok")
  }

  @Test func `a key that hangs up or talks nonsense is unavailable`() async throws {
    let (stage, key) = (try KeyStage(), try SoftwareKey(pin: ""))
    _ = try await stage.run("enroll-touch:", with: [key])
    try key.behave(.init(touch: "hangs up"))
    #expect(
      try await stage.run("open:", with: [key]).last
        == "open: unavailable: key slot 2 (touched): Software Key does not answer as it should "
        + "(FIDO_ERR_RX)")
    try key.behave(.init(answer: "garbage"))
    let last = try await stage.run("open:", with: [key]).last
    #expect(last?.contains("(touched): Software Key does not answer as it should") == true)
    // It was asked whether it made the slot, not for a touch.
    try key.behave(.init(answer: "silence"))
    #expect(
      try await stage.run("open:", with: [key]).last
        == "open: unavailable: key slot 2 (touched): Software Key does not answer as it should "
        + "(FIDO_ERR_RX)")
  }

  @Test func `the keys that are plugged in are listed`() async throws {
    let keys = [
      try SoftwareKey(), try SoftwareKey(pin: "", .init(reader: true)),
      try SoftwareKey(pin: "", .init(answer: "no secrets")),
    ]
    #expect(
      try await KeyStage().run("list", with: keys) == [
        "Software Key: PIN true, reader false, secrets true",
        "Software Key: PIN false, reader true, secrets true",
        "Software Key: PIN false, reader false, secrets false", "list: ok",
      ])
  }
}
