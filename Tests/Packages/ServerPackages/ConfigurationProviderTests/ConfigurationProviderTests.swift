import Configuration
import ConfigurationTesting
import Foundation
import SealedStore
import SessionToolsBase
@testable import SessionToolsConfiguration
import SessionToolsTesting
import Testing

@Suite struct `a provider of secrets for swift-configuration` {
  private let namespace: StoreNamespace = "com.example.shop"
  private let clock = ManualClock()

  /// Returns the code of the store's error that a closure throws.
  private func code(_ body: () async throws -> some Any) async -> StoreError.Code? {
    await #expect(throws: StoreError.self) { _ = try await body() }?.code
  }

  private func put(_ texts: [String: String], in store: some SecretStore) async throws {
    let changes = try texts.map {
      StoreChange.put(SecretBytes(utf8: $0.value), for: try ItemName($0.key, in: namespace))
    }
    try await store.apply(changes)
  }

  private func provider(
    _ store: some SecretStore
  ) async throws(StoreError) -> ReloadingSecretStoreProvider {
    try await ReloadingSecretStoreProvider(store, namespace: namespace, clock: clock)
  }

  private static let magic: [UInt8] = [0x6d, 0x61, 0x67, 0x69, 0x63]
  private static let compatible = [
    "string": "Hello", "other.string": "Other Hello", "int": "42", "other.int": "24",
    "double": "3.14", "other.double": "2.72", "bool": "true", "other.bool": "false",
    "bytes": "magic", "other.bytes": "magic2", "stringy.array": "Hello,World",
    "other.stringy.array": "Hello, Swift", "inty.array": "42,24", "other.inty.array": "16, 32",
    "doubly.array": "3.14,2.72", "other.doubly.array": "0.9,1.8", "booly.array": "true,false",
    "other.booly.array": "false,true,true", "byteChunky.array": "bWFnaWM=,bWFnaWMy",
    "other.byteChunky.array": "bWFnaWM=, bWFnaWMy, bWFnaWM=",
  ]

  @Test func `passes the compatibility test of the package`() async throws {
    let store = MemoryStore()
    try await put(Self.compatible, in: store)
    try await ProviderCompatTest(provider: try await provider(store)).runTest()
  }

  @Test func `passes it on a sealed file store, opened by another process's object`() async throws {
    let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path()
    defer { try? FileManager.default.removeItem(atPath: path) }
    let key = try RawKey(SecretBytes((0..<32).map { UInt8($0) }))
    try await put(Self.compatible, in: try SealedFileStore.create(at: path, key: key))
    let provider = try await provider(try SealedFileStore.open(at: path, key: key))
    try await ProviderCompatTest(provider: provider).runTest()
  }

  @Test func `marks every value as secret, and shows none`() async throws {
    let store = MemoryStore()
    try await put(Self.compatible, in: store)
    let provider = try await provider(store)
    let types: [ConfigType] = [.string, .bytes, .stringArray]
    for type in types {
      let key = AbsoluteConfigKey(["string"])
      #expect(try provider.value(forKey: key, type: type).value?.isSecret == true)
      #expect(try await provider.fetchValue(forKey: key, type: type).value?.isSecret == true)
      #expect(try provider.snapshot().value(forKey: key, type: type).value?.isSecret == true)
      try await provider.watchValue(forKey: key, type: type) { updates in
        var values = updates.makeAsyncIterator()
        let first = try #require(await values.next())
        #expect(try first.get().value?.isSecret == true)
      }
    }
    for text in ["\(provider)", "\(provider.snapshot())", provider.providerName] {
      #expect(!text.contains("Hello") && !text.contains("byteChunky"))
    }
  }

  @Test func `does not start with a store that it cannot read`() async throws {
    let store = FaultyStore(MemoryStore())
    store.lock()
    #expect(await code { try await provider(store) } == .locked)
  }

  @Test func `does not start with more than it may keep in memory`() async throws {
    let store = MemoryStore()
    try await put(["a": "12345", "b": "678901"], in: store)
    let code = await code {
      try await ReloadingSecretStoreProvider(store, namespace: namespace, maximumByteCount: 10)
    }
    #expect(code == .valueTooLarge)
  }

  @Test func `keeps the last values while the store is locked, and fetches none`() async throws {
    let store = FaultyStore(MemoryStore())
    try await put(["token": "old"], in: store)
    let provider = try await provider(store)
    let running = Task { try await provider.run() }
    defer { running.cancel() }
    let key = AbsoluteConfigKey(["token"])
    try await provider.watchValue(forKey: key, type: .string) { updates in
      var values = updates.makeAsyncIterator()
      #expect(try await values.next()?.get().value?.content == .string("old"))
      store.lock()
      // It was read again when `run` began; unlocking reports that everything may have changed.
      let code = await code { try await provider.fetchValue(forKey: key, type: .string) }
      #expect(code == .locked)
      #expect(try provider.value(forKey: key, type: .string).value?.content == .string("old"))
      store.unlock()
      try await put(["token": "new"], in: store)
      while clock.sleeperCount > 0 { clock.advance(by: .seconds(60)) }
      #expect(try await values.next()?.get().value?.content == .string("new"))
    }
  }

  @Test func `reports a change to a watcher once, and a removal`() async throws {
    let store = MemoryStore()
    try await put(["token": "1", "other": "x"], in: store)
    let provider = try await provider(store)
    let running = Task { try await provider.run() }
    defer { running.cancel() }
    let key = AbsoluteConfigKey(["token"])
    try await provider.watchValue(forKey: key, type: .int) { updates in
      var values = updates.makeAsyncIterator()
      #expect(try await values.next()?.get().value?.content == .int(1))
      // None of these is a change of this value.
      try await put(["other": "y"], in: store)
      try await put(["token": "1"], in: store)
      try await store.apply([
        .put(SecretBytes(utf8: "9"), for: try ItemName("token", in: "elsewhere"))
      ])
      try await put(["token": "2"], in: store)
      #expect(try await values.next()?.get().value?.content == .int(2))
      try await store.apply([.remove(try ItemName("token", in: namespace))])
      let last = try #require(await values.next())
      #expect(try last.get().value == nil)
      try await put(["token": "two"], in: store)
      let wrong = try #require(await values.next())
      #expect(await code { try wrong.get() } == .undecodable)
    }
  }

  @Test func `keeps keys apart that only look alike`() async throws {
    let store = MemoryStore()
    try await put(["a.b": "two", "a%2Eb": "one", "A.B": "capital"], in: store)
    let provider = try await provider(store)
    func value(_ components: [String]) throws -> ConfigContent? {
      try provider.value(forKey: AbsoluteConfigKey(components), type: .string).value?.content
    }
    #expect(try value(["a", "b"]) == .string("two"))
    #expect(try value(["a.b"]) == .string("one"))
    #expect(try value(["a%2Eb"]) == nil)
    #expect(try value(["A", "B"]) == .string("capital"))
  }

  @Test(arguments: [
    ("12x", ConfigType.int), ("1e999x", .double), ("maybe", .bool), ("1,two", .intArray),
    ("true,,", .boolArray), ("no Base64!", .byteChunkArray),
  ])
  func `says of a value of another type which item it is, and not what is in it`(
    _ text: String, _ type: ConfigType
  ) async throws {
    let store = MemoryStore()
    try await put(["token": text], in: store)
    let provider = try await provider(store)
    let error = try #require(
      #expect(throws: StoreError.self) {
        try provider.value(forKey: AbsoluteConfigKey(["token"]), type: type)
      })
    #expect(error.code == .undecodable)
    #expect("\(error)".contains("token") && "\(error)".contains("\(type)"))
    #expect(!"\(error)".contains(text))
  }

  @Test func `reads bytes that are no text as bytes alone`() async throws {
    let store = MemoryStore()
    try await store.apply([
      .put(SecretBytes([0xff, 0x00]), for: try ItemName("key", in: namespace))
    ])
    let provider = try await provider(store)
    let key = AbsoluteConfigKey(["key"])
    #expect(try provider.value(forKey: key, type: .bytes).value?.content == .bytes([0xff, 0x00]))
    #expect(await code { try provider.value(forKey: key, type: .string) } == .undecodable)
  }

  @Test func `leaves no watcher behind that was cancelled`() async throws {
    let store = MemoryStore()
    try await put(["token": "1"], in: store)
    let provider = try await provider(store)
    let watching = (0..<100).map { _ in
      Task {
        try await provider.watchSnapshot { updates in
          for await _ in updates {}
        }
      }
    }
    for task in watching { task.cancel() }
    for task in watching { try await task.value }
    #expect(provider.watcherCount == 0)
  }
}
