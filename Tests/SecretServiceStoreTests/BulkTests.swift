import BusTestSupport
import Foundation
import SecretServiceStore
import SessionToolsBase
import Testing

/// Many items at once.
@Suite(.fewAtATime) struct BulkTests {
  @Test func `two thousand items are listed and read`() async throws {
    var items: [StoreKey: SecretBytes] = [:]
    for number in 0..<2000 {
      let key = try StoreKey("item-\(number)", in: number < 1500 ? "many" : "some")
      // Two of them large.
      let byteCount = number % 1000 == 7 ? 40_000 : number % 300
      items[key] = SecretBytes((0..<byteCount).map { UInt8(truncatingIfNeeded: $0 &* number) })
    }
    let bus = try await PrivateBus()
    try PlainKeyring.write(items, on: bus)
    let keyring = try await GnomeKeyring(on: bus, .locked)
    // Unlocking so many takes gnome-keyring many seconds when the machine is busy.
    let store = bus.store { $0.timeout = .seconds(300) }
    #expect(try await store.contains(StoreKey("item-0", in: "many")))
    var times: [String] = []
    let clock = ContinuousClock()
    for _ in 0..<2 {
      times.append("items: \(try await clock.measure { _ = try await store.items(in: nil) })")
      times.append("keys: \(try await clock.measure { _ = try await store.keys(in: nil) })")
    }
    #expect(try await store.keys(in: nil) == items.keys.sorted())
    #expect(try await store.items(in: nil) == items)
    let some = items.filter { $0.key.namespace.service == "some" }
    #expect(try await store.keys(in: "some") == some.keys.sorted())
    #expect(try await store.items(in: "some") == some)
    // For information only: this is not a benchmark.
    print("2,000 items in gnome-keyring: \(times.joined(separator: ", "))")
    withExtendedLifetime(keyring) {}
  }

  @Test func `a keyring file is what the store would have written`() async throws {
    let key = try StoreKey("item", in: "service")
    let bus = try await PrivateBus()
    try PlainKeyring.write([key: SecretBytes(utf8: "file")], on: bus)
    let keyring = try await GnomeKeyring(on: bus, .locked)
    let store = bus.store()
    try await store.put(SecretBytes(utf8: "store"), for: key)
    let client = try await OtherClient(on: bus)
    #expect(try await client.items().count == 1, "it was overwritten")
    let attributes = try await client.attributes(of: client.items()[0])
    let made = try StoreKey("made", in: "service")
    try await store.put(SecretBytes(utf8: "store"), for: made)
    try await store.remove(key)
    let others = try await client.attributes(of: client.items()[0])
    #expect(attributes.keys.sorted() == others.keys.sorted())
    for name in attributes.keys
    where !["session-tools:id", "session-tools:identifier"].contains(name) {
      #expect(attributes[name] == others[name])
    }
    withExtendedLifetime(keyring) {}
  }
}
