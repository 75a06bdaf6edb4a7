import SessionToolsBusTestSupport
import Foundation
import SecretServiceStore
import SessionToolsBase
import SessionToolsTestSupport
import Testing

/// The store with every provider.
@Suite(.fewAtATime) struct KeyringTests {
  private let name: ItemName

  init() throws {
    name = try ItemName("item", in: "com.example.mail")
  }

  @Test(arguments: Keyring.allCases)
  func `an item that is put is there, and an item that is removed is not`(_ kind: Keyring)
    async throws
  {
    let service = try await KeyringOnBus(kind)
    defer { withExtendedLifetime(service) {} }
    let store = service.bus.store()
    #expect(try await store.value(for: name) == nil)
    #expect(try await store.contains(name) == false)
    #expect(try await store.names(in: nil) == [])
    #expect(try await store.items(in: nil) == [:])
    #expect(try await store.isLocked() == false)
    try await store.unlock()
    try await store.put(SecretBytes(utf8: "first"), for: name)
    try await store.put(SecretBytes(utf8: "second"), for: name)
    let other = service.bus.store()
    #expect(try await other.value(for: name) == SecretBytes(utf8: "second"))
    #expect(try await other.contains(name))
    #expect(try await other.names(in: nil) == [name])
    #expect(try await other.items(in: nil) == [name: SecretBytes(utf8: "second")])
    try await store.remove(name)
    #expect(try await store.value(for: name) == nil)
    #expect(try await other.contains(name) == false)
    #expect(try await other.names(in: nil) == [])
    try await store.remove(name)
  }

  @Test(arguments: Keyring.allCases)
  func `blocking calls return the same results`(_ kind: Keyring) async throws {
    let service = try await KeyringOnBus(kind)
    defer { withExtendedLifetime(service) {} }
    let (store, name) = (service.bus.store(), name)
    try await onThread {
      #expect(try store.value(for: name) == nil)
      try store.put(SecretBytes(utf8: "value"), for: name)
      #expect(try store.value(for: name) == SecretBytes(utf8: "value"))
      #expect(try store.contains(name))
      #expect(try store.names(in: name.namespace) == [name])
      try store.remove(name)
      #expect(try store.contains(name) == false)
    }
  }

  @Test(arguments: Keyring.allCases)
  func `every value comes back byte for byte`(_ kind: Keyring) async throws {
    let service = try await KeyringOnBus(kind)
    defer { withExtendedLifetime(service) {} }
    let store = service.bus.store()
    var values: [[UInt8]] = [
      [], [0], [10], [0xff], [0, 0, 0], Array("a\u{0}b\n\r\n \t".utf8), [0xc3, 0x28, 0xed, 0xa0],
      Array(0...255), Array(repeating: 0, count: 4096), Array("session-tools:1:".utf8),
    ]
    // On both sides of the limit for reading in bulk, growing and shrinking across it.
    for byteCount in [32 << 10, (32 << 10) + 1, 1 << 20, 3] {
      values.append((0..<byteCount).map { UInt8(truncatingIfNeeded: $0 &* 251 >> 3) })
    }
    for value in values {
      try await store.put(SecretBytes(value), for: name)
      #expect(try await store.value(for: name)?.copyBytes() == value)
      #expect(try await store.items(in: nil)[name]?.copyBytes() == value)
      #expect(try await store.names(in: nil) == [name])
    }
    let items = try await OtherClient(on: service.bus).items()
    #expect(items.count == 1, "a larger value is not another item")
  }

  @Test(arguments: Keyring.allCases)
  func `names of every kind are kept apart`(_ kind: Keyring) async throws {
    let service = try await KeyringOnBus(kind)
    defer { withExtendedLifetime(service) {} }
    let store = service.bus.store()
    var items: [ItemName: SecretBytes] = [:]
    for (position, name) in try Names.odd().enumerated() {
      items[name] = SecretBytes(utf8: "\(position)")
      try await store.put(SecretBytes(utf8: "\(position)"), for: name)
    }
    #expect(try await store.items(in: nil) == items)
    #expect(try await store.names(in: nil) == items.keys.sorted())
    for (name, value) in items {
      #expect(try await store.value(for: name) == value)
    }
    for namespace in Set(items.keys.map(\.namespace)) {
      let inside = items.filter { $0.key.namespace == namespace }
      #expect(try await store.items(in: namespace) == inside)
      #expect(try await store.names(in: namespace) == inside.keys.sorted())
    }
    for name in items.keys.sorted().prefix(items.count / 2) {
      try await store.remove(name)
      items[name] = nil
    }
    #expect(try await store.items(in: nil) == items)
  }

  @Test(arguments: Keyring.allCases)
  func `items of other programs are left alone`(_ kind: Keyring) async throws {
    let service = try await KeyringOnBus(kind)
    let store = service.bus.store()
    // The names that another program would give to the same item.
    try await service.bus.secretTool(
      "store", "--label=mail", "service", "com.example.mail", "username", "item",
      input: "theirs")
    #expect(try await store.names(in: nil) == [])
    #expect(try await store.value(for: name) == nil)
    try await store.put(SecretBytes(utf8: "ours"), for: name)
    try await store.remove(name)
    try await store.put(SecretBytes(utf8: "ours"), for: name)
    #expect(
      try await service.bus.secretTool("lookup", "service", "com.example.mail", "username", "item")
        == "theirs")
    #expect(try await store.items(in: nil) == [name: SecretBytes(utf8: "ours")])
  }

  @Test(arguments: Keyring.allCases)
  func `a restart of the provider between two calls is not noticed`(
    _ kind: Keyring
  ) async throws {
    var service = try await KeyringOnBus(kind, saves: true)
    let (store, name) = (service.bus.store(), name)
    try await service.keyring.saving {
      try await store.put(SecretBytes(utf8: "1"), for: name)
    }
    try await service.restart()
    #expect(try await store.value(for: name) == SecretBytes(utf8: "1"))
    try await service.restart()
    try await service.keyring.saving {
      try await store.put(SecretBytes(utf8: "2"), for: name)
    }
    #expect(try await service.bus.store().value(for: name) == SecretBytes(utf8: "2"))
    try await service.restart()
    #expect(try await store.availability() == .unlocked)
    try await service.restart()
    #expect(try await store.names(in: nil) == [name])
    try await service.restart()
    try await store.remove(name)
    #expect(try await store.contains(name) == false)
  }

  @Test(arguments: Keyring.allCases)
  func `a provider that was killed is an error, not an absent item`(_ kind: Keyring) async throws {
    let service = try await KeyringOnBus(kind)
    let store = service.bus.store()
    try await store.put(SecretBytes(utf8: "1"), for: name)
    service.keyring.kill()
    for call in reads + changes {
      #expect(
        await failure { try await call.run(store, name) } == StoreError.unavailable, "\(call.name)")
    }
    #expect(await failure { try await store.isLocked() } == StoreError.unavailable)
    #expect(await failure { try await store.unlock() } == StoreError.unavailable)
  }

  @Test(arguments: Keyring.allCases)
  func `a value that is too large is refused before anything is written`(
    _ kind: Keyring
  ) async throws {
    let service = try await KeyringOnBus(kind)
    defer { withExtendedLifetime(service) {} }
    let store = service.bus.store()
    let large = SecretBytes([UInt8](repeating: 1, count: store.traits.maximumValueByteCount + 1))
    let other = try ItemName("other", in: "com.example.mail")
    let changes: [StoreChange] = [
      .put(SecretBytes(utf8: "value"), for: other), .put(large, for: name),
    ]
    #expect(await failure { try await store.apply(changes) } == StoreError.valueTooLarge)
    #expect(try await OtherClient(on: service.bus).items() == [])
  }

  @Test(.serialized, arguments: Keyring.allCases)
  func `a value of the largest size comes back`(_ kind: Keyring) async throws {
    let service = try await KeyringOnBus(kind)
    defer { withExtendedLifetime(service) {} }
    let store = service.bus.store { $0.timeout = .seconds(300) }
    let byteCount = TestSize.choose(small: 2 << 20, medium: 16 << 20, large: 16 << 20)
    // Doubled each time, because a closure for every byte takes seconds.
    var bytes = (0..<1021).map { UInt8(truncatingIfNeeded: $0 &* 251 >> 3) }
    while bytes.count < byteCount { bytes += bytes }
    let value = SecretBytes(Array(bytes.prefix(byteCount)))
    try await store.put(value, for: name)
    #expect(try await store.value(for: name) == value)
  }
}
