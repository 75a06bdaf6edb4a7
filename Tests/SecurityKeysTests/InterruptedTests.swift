import SealedStore
import SecurityKeys
import SessionToolsBase
import SessionToolsSoftwareKeys
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

@Suite(.onOwnThread) struct InterruptedTests {
  @Test func `a cancelled key stops waiting and works afterwards`() async throws {
    let (stage, key) = (try KeyStage(), try SoftwareKey())
    _ = try await stage.run("enroll:1234", with: [key])
    try key.behave(.init(touch: "never"))
    let worker = try stage.start("open-cancelled:1234", with: [key])
    try await key.waits(times: 3)
    try worker.signal()
    #expect(
      try await worker.end().last
        == "open-cancelled: cancelled: key slot 2 (Ada's): the program cancelled the use of the "
        + "key")
    #expect(key.count("cancelled") == 1)
    try key.behave(.init())
    #expect(try await stage.run("open:1234", with: [key]).last == "open: ok")
  }

  @Test(arguments: ["question", "touch", "before"])
  func `after a cancellation nothing else is reported`(moment: String) async throws {
    let (stage, key) = (try KeyStage(), try SoftwareKey())
    _ = try await stage.run("enroll:1234", with: [key])
    let lines = try await stage.run(
      "cancelled-at-\(moment):1234", with: moment == "before" ? [] : [key])
    #expect(
      lines.last == "cancelled-at-\(moment): cancelled: "
        + "key slot 2 (Ada's): the program cancelled the use of the key")
    #expect(lines.contains { $0.hasPrefix("PIN?") } == (moment != "before"))
    #expect(key.count("wrong PIN") == 0)
    #expect(try await stage.run("open:1234", with: [key]).last == "open: ok")
  }

  @Test func `a timeout is one that libfido2 takes`() {
    #expect(Duration.seconds(Int64.max).milliseconds == Int32.max)
    #expect(Duration.milliseconds(Int64(Int32.max) + 1).milliseconds == Int32.max)
    #expect(Duration.milliseconds(1500).milliseconds == 1500)
    // -1 would be to wait forever.
    for timeout in [Duration.milliseconds(-1), .seconds(Int64.min), .zero] {
      #expect(timeout.milliseconds == 0)
    }
  }

  @Test(arguments: [1, 2])
  func `a program that is killed while it enrolls leaves the header as it was`(touches: Int)
    async throws
  {
    let (stage, key) = (try KeyStage(), try SoftwareKey())
    let header = try stage.header
    if touches == 1 { try key.behave(.init(touch: "never")) }
    if touches == 2 { try key.behave(.init(touch: "once more")) }
    let worker = try stage.start("enroll:1234", with: [key])
    try await key.waits(times: touches)
    worker.kill()
    #expect(try stage.header == header)
    try key.behave(.init())
    #expect(try await stage.run("enroll:1234", "open:1234", with: [key]).last == "open: ok")
  }

  @Test func `a program that is killed while it waits for a touch leaves the header as it was`()
    async throws
  {
    let (stage, key) = (try KeyStage(), try SoftwareKey())
    _ = try await stage.run("enroll:1234", with: [key])
    let header = try stage.header
    try key.behave(.init(touch: "never"))
    let worker = try stage.start("open:1234", with: [key])
    try await key.waits(times: 3)
    worker.kill()
    #expect(try stage.header == header)
    try key.behave(.init())
    #expect(try await stage.run("open:1234", with: [key]).last == "open: ok")
  }

  @Test func `other processes write while a revocation waits for a touch`() async throws {
    let (stage, key, lost) = (try KeyStage(), try SoftwareKey(), try SoftwareKey())
    _ = try await stage.run("enroll:1234", with: [lost])
    _ = try await stage.run("enroll:1234", with: [key])
    try key.behave(.init(touch: "never"))
    let worker = try stage.start("revoke:1234", with: [key])
    try await key.waits(times: 3)
    let store = try SealedFileStore.open(at: stage.path, key: stage.keyFile)
    try await store.put(SecretBytes(utf8: "value"), for: ItemName("item", in: "meanwhile"))
    try key.behave(.init())
    #expect(try await worker.end().suffix(2) == ["kept [1, 2], dropped []", "revoke: ok"])
    #expect(try await stage.run("open:1234", with: [key]).last == "open: ok")
    #expect(
      try await stage.run("open:1234", with: [lost]).last?.hasPrefix("open: keyMissing") == true)
  }
}
