import SessionToolsBusTestSupport
import Foundation
import SecretServiceStore
import SessionToolsBase
import Testing

/// Many items at once.
@Suite(.fewAtATime) struct BulkTests {
  @Test func `two thousand items are listed and read`() async throws {
    var items: [ItemName: SecretBytes] = [:]
    for number in 0..<2000 {
      let name = try ItemName("item-\(number)", in: number < 1500 ? "many" : "some")
      // Two of them large.
      let byteCount = number % 1000 == 7 ? 40_000 : number % 300
      items[name] = SecretBytes((0..<byteCount).map { UInt8(truncatingIfNeeded: $0 &* number) })
    }
    let bus = try await PrivateBus()
    try PlainKeyring.write(items, on: bus)
    let keyring = try await GnomeKeyring(on: bus, .locked)
    // Unlocking so many takes gnome-keyring many seconds when the machine is busy.
    let store = bus.store { $0.timeout = .seconds(300) }
    #expect(try await store.contains(ItemName("item-0", in: "many")))
    var times: [String] = []
    let clock = ContinuousClock()
    for _ in 0..<2 {
      times.append("items: \(try await clock.measure { _ = try await store.items(in: nil) })")
      times.append("keys: \(try await clock.measure { _ = try await store.names(in: nil) })")
    }
    #expect(try await store.names(in: nil) == items.keys.sorted())
    #expect(try await store.items(in: nil) == items)
    let some = items.filter { $0.key.namespace.service == "some" }
    #expect(try await store.names(in: "some") == some.keys.sorted())
    #expect(try await store.items(in: "some") == some)
    // For information only: this is not a benchmark.
    print("2,000 items in gnome-keyring: \(times.joined(separator: ", "))")
    withExtendedLifetime(keyring) {}
  }

  @Test func `values are read together with at most ten times as many others`() async throws {
    let bus = try await PrivateBus()
    let provider = try await FaultyProvider.start(on: bus)
    let store = bus.store()
    var items: [ItemName: SecretBytes] = [:]
    for number in 0..<250 {
      let name = try ItemName("item \(number)", in: number < 230 ? "many" : "few")
      items[name] = SecretBytes(utf8: "value \(number)")
    }
    try await store.apply(items.map { .put($0.value, for: $0.key) })
    func givenCount(_ body: () throws -> Void) async throws -> Int {
      let before = try await provider.givenCount()
      try body()
      return try await provider.givenCount() - before
    }
    let many = items.keys.filter { $0.namespace == "many" }.sorted()
    let few = items.keys.filter { $0.namespace == "few" }.sorted()
    // 23 are a tenth of that namespace, and 22 are less.
    for (count, expected) in [(22, 0), (23, 230)] {
      let asked = many.prefix(count)
      let given = try await givenCount {
        let values = try store.values(ofFirst: asked)
        #expect(values == asked.map { expected == 0 ? nil : items[$0] })
      }
      #expect(given == expected)
    }
    let given = try await givenCount {
      let values = try store.values(ofFirst: (many.prefix(2) + few)[...])
      #expect(values.count == 22 && values.compactMap(\.self).count == 20)
    }
    #expect(given == 20)
    let absent = try (0..<30).map { try ItemName("absent \($0)", in: "many") }
    for (asked, expected) in [(few, 0), (Array(many.prefix(25)), 250), (absent, 250)] {
      let given = try await givenCount {
        let present = try store.present(among: asked)
        #expect(present == Set(asked).intersection(items.keys))
      }
      #expect(given == expected)
    }
    withExtendedLifetime(provider) {}
  }

  @Test func `a keyring file is what the store would have written`() async throws {
    let itemName = try ItemName("item", in: "service")
    let bus = try await PrivateBus()
    try PlainKeyring.write([itemName: SecretBytes(utf8: "file")], on: bus)
    let keyring = try await GnomeKeyring(on: bus, .locked)
    let store = bus.store()
    try await store.put(SecretBytes(utf8: "store"), for: itemName)
    let client = try await OtherClient(on: bus)
    #expect(try await client.items().count == 1, "it was overwritten")
    let attributes = try await client.attributes(of: client.items()[0])
    let made = try ItemName("made", in: "service")
    try await store.put(SecretBytes(utf8: "store"), for: made)
    try await store.remove(itemName)
    let others = try await client.attributes(of: client.items()[0])
    #expect(attributes.keys.sorted() == others.keys.sorted())
    for name in attributes.keys
    where !["session-tools:id", "session-tools:identifier"].contains(name) {
      #expect(attributes[name] == others[name])
    }
    withExtendedLifetime(keyring) {}
  }
}
