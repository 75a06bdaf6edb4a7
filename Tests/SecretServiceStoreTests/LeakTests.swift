import SessionToolsBusTestSupport
import Foundation
import SecretServiceStore
import SessionToolsBase
import SessionToolsTestSupport
import Testing

/// In processes of their own, whose memory nothing else uses.
@Suite(.fewAtATime, .disabled(if: isSanitized, "a sanitizer keeps freed memory"))
struct LeakTests {
  /// Returns the resident memory of this process.
  static func residentByteCount() throws -> Int {
    let text = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
    let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    return pages * 4096
  }

  static func descriptorCount() throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
  }

  /// Runs rounds; memory and open files may grow during the first ones, but not during the others.
  static func expectNoGrowth(
    rounds: Int, bytesEach: Int, _ name: String, _ body: () async throws -> Void
  ) async throws {
    for _ in 0..<max(100, rounds / 2) { try await body() }
    // The first sleep opens a timer's file, which stays open.
    try await Task.sleep(for: .milliseconds(10))
    let before = (try residentByteCount(), try descriptorCount())
    for _ in 0..<rounds { try await body() }
    var after = (try residentByteCount(), try descriptorCount())
    // Another thread closes files a little later.
    var wait = Wait()
    while after.1 > before.1, !wait.isOver() {
      try await Task.sleep(for: .milliseconds(10))
      after.1 = try descriptorCount()
    }
    print("\(name): \(rounds) rounds, \(after.0 - before.0) bytes, \(after.1 - before.1) files")
    precondition(after.1 <= before.1, "files")
    precondition(after.0 - before.0 < rounds * bytesEach + (1 << 20), "memory")
  }

  /// Prints the measurements.
  private static func show(_ result: ExitTest.Result?) {
    print(String(decoding: result?.standardOutputContent ?? [], as: UTF8.self), terminator: "")
  }

  @Test func `operations leave nothing behind`() async throws {
    let bus = try await PrivateBus()
    let keyring = try await GnomeKeyring(on: bus)
    let rounds = TestSize.choose(small: 30, medium: 200, large: 2000)
    let result = await #expect(
      processExitsWith: .success, observing: [\.standardOutputContent]
    ) {
      [address = bus.address as String, rounds = rounds as Int] in
      let store = SecretServiceStore(
        collection: .default, options: .patient, bus: SessionBus(address: address))
      let names = try (0..<4).map { try ItemName("item \($0)", in: "service") }
      // A GVariant, a task or a session leaked in each round takes some hundred bytes.
      try await Self.expectNoGrowth(rounds: rounds, bytesEach: 300, "five operations") {
        let name = names[Int.random(in: 0..<4)]
        try await store.put(SecretBytes(utf8: "value"), for: name)
        _ = try await store.value(for: name)
        _ = try await store.contains(name)
        _ = try await store.names(in: nil)
        try await store.remove(names[0])
      }
    }
    Self.show(result)
    #expect(keyring.isRunning)
  }

  @Test func `stores and streams leave nothing behind`() async throws {
    let bus = try await PrivateBus()
    let keyring = try await GnomeKeyring(on: bus)
    let rounds = TestSize.choose(small: 20, medium: 150, large: 2000)
    let result = await #expect(
      processExitsWith: .success, observing: [\.standardOutputContent]
    ) {
      [address = bus.address as String, rounds = rounds as Int] in
      let name = try ItemName("item", in: "service")
      // A connection leaked in each round takes some thousand bytes and a file.
      try await Self.expectNoGrowth(rounds: rounds, bytesEach: 1000, "stores with streams") {
        let store = SecretServiceStore(
          collection: .default, options: .patient,
          bus: SessionBus(address: address))
        for await event in store.changes() where event == .resynchronize { break }
        _ = try await store.contains(name)
      }
    }
    Self.show(result)
    #expect(keyring.isRunning)
  }

  @Test func `questions leave nothing behind`() async throws {
    let bus = try await PrivateBus()
    let keyring = try await GnomeKeyring(on: bus)
    try await OtherClient(on: bus).lock()
    let rounds = TestSize.choose(small: 20, medium: 100, large: 1000)
    let result = await #expect(
      processExitsWith: .success, observing: [\.standardOutputContent]
    ) {
      [address = bus.address as String, rounds = rounds as Int] in
      let name = try ItemName("item", in: "service")
      var options = SecretServiceStore.Options.patient
      options.prompts = .ifNeeded
      let store = SecretServiceStore(
        collection: .default, options: options, bus: SessionBus(address: address))
      try await Self.expectNoGrowth(rounds: rounds, bytesEach: 1000, "questions") {
        let code = await failure { try await store.value(for: name) }
        guard code == StoreError.promptDismissed else { fatalError("\(code as Any)") }
      }
    }
    Self.show(result)
    #expect(keyring.isRunning)
  }
}
