import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import Testing

@Suite struct StoreTests {
  let scratch: Scratch
  let store: SealedFileStore

  init() throws {
    scratch = try Scratch()
    store = try scratch.create()
  }

  @Test func `an item that was put is read, contained and listed until it is removed`()
    throws
  {
    let name = try name("token")
    try store.put(secret("s3cret"), for: name)
    #expect(try store.value(for: name) == secret("s3cret"))
    #expect(try store.contains(name))
    #expect(try store.names(in: nil) == [name])
    try store.remove(name)
    #expect(try store.value(for: name) == nil)
    #expect(try !store.contains(name))
    #expect(try store.names(in: nil) == [])
  }

  @Test func `a store that is reopened has the items that were put before`() throws {
    try store.put("one", as: "1")
    try store.put("two", as: "2")
    try store.remove(name("1"))
    let reopened = try scratch.open()
    #expect(try reopened.contents() == [name("2"): Array("two".utf8)])
    #expect(try reopened.verify().findings == [])
  }

  @Test func `a new value replaces the old one`() throws {
    try store.put("old", as: "item")
    try store.put("a new value of another length", as: "item")
    #expect(try store.text("item") == "a new value of another length")
    #expect(try store.names(in: nil).count == 1)
  }

  @Test func `an empty value is a value and not an absent item`() throws {
    try store.put(SecretBytes([UInt8]()), for: name("empty"))
    #expect(try store.value(for: name("empty")) == SecretBytes([UInt8]()))
    #expect(try scratch.open().contains(name("empty")))
  }

  @Test func `names are listed by namespace and in ascending order`() throws {
    let other = try StoreNamespace(service: "other", accessGroup: "group")
    for identifier in ["b", "a", "ab", "é", "Z"] {
      try store.put(secret(identifier), for: ItemName(identifier, in: "service"))
    }
    try store.put(secret("x"), for: ItemName("a", in: other))
    #expect(try store.names(in: "service").map(\.identifier) == ["Z", "a", "ab", "b", "é"])
    #expect(try store.names(in: other).map(\.identifier) == ["a"])
    #expect(try store.names(in: "absent") == [])
    let all = try store.names(in: nil)
    #expect(all == all.sorted())
    #expect(all.count == 6)
  }

  @Test func `a value of exactly 16 MiB is kept, and one byte more is refused and changes nothing`()
    throws
  {
    let largest = SecretBytes([UInt8](repeating: 7, count: 16 << 20))
    try store.put(largest, for: name("large"))
    let length = try scratch.bytes(of: "journal").count
    let tooLarge = SecretBytes([UInt8](repeating: 8, count: (16 << 20) + 1))
    for item in try [name("large"), name("another")] {
      #expect(
        try code {
          try store.apply([.put(secret("with it"), for: name("small")), .put(tooLarge, for: item)])
        }
          == StoreError.valueTooLarge)
    }
    #expect(try scratch.bytes(of: "journal").count == length)
    #expect(try store.value(for: name("small")) == nil)
    #expect(try store.value(for: name("another")) == nil)
    #expect(try scratch.open().value(for: name("large")) == largest)
  }

  static let identifiers = [
    "a", " ", "-", "..", "../../etc/passwd", "a/b", "a\0b", "\0", "two\nlines", "\u{202e}left",
    "é", "e\u{301}", "\u{10ffff}", "🔑👩‍💻", "'; DROP TABLE", "%s%n",
    String(repeating: "x", count: 4096),
    String(repeating: "é", count: 2048),
  ]

  @Test func `identifiers of every kind name different items`() throws {
    for (number, identifier) in Self.identifiers.enumerated() {
      try store.put("\(number)", as: identifier)
    }
    let reopened = try scratch.open()
    #expect(try reopened.names(in: nil).count == Self.identifiers.count)
    for (number, identifier) in Self.identifiers.enumerated() {
      #expect(try reopened.text(identifier) == "\(number)")
    }
  }

  @Test func `namespaces that differ in any part never share an item`() throws {
    let long = String(repeating: "n", count: 4096)
    let namespaces = try [
      StoreNamespace(service: "a"), StoreNamespace(service: "a", accessGroup: "b"),
      StoreNamespace(service: "a", install: InstallIdentifier(rawValue: "b")),
      StoreNamespace(service: "a", accessGroup: "b", install: InstallIdentifier(rawValue: "b")),
      StoreNamespace(service: "ab"), StoreNamespace(service: "a", accessGroup: "bb"),
      StoreNamespace(service: long, accessGroup: long, install: InstallIdentifier(rawValue: long)),
    ]
    for (number, namespace) in namespaces.enumerated() {
      for identifier in ["b", "bb", long] {
        try store.put(
          secret("\(number) \(identifier.utf8.count)"), for: ItemName(identifier, in: namespace))
      }
    }
    let reopened = try scratch.open()
    for (number, namespace) in namespaces.enumerated() {
      #expect(try reopened.names(in: namespace).count == 3)
      for identifier in ["b", "bb", long] {
        let value = try reopened.value(for: ItemName(identifier, in: namespace))
        #expect(value == secret("\(number) \(identifier.utf8.count)"))
      }
    }
  }

  @Test(arguments: ["", String(repeating: "x", count: 4097), String(repeating: "é", count: 2049)])
  func `a name that is empty or longer than 4096 bytes is refused`(identifier: String) throws {
    #expect(try code { _ = try name(identifier) } == StoreError.invalidName)
    #expect(try code { _ = try StoreNamespace(service: identifier) } == StoreError.invalidName)
    #expect(
      try code { _ = try StoreNamespace(service: "a", accessGroup: identifier) }
        == StoreError.invalidName)
  }

  @Test func `the traits describe the store`() throws {
    let traits = store.traits
    #expect(traits.isAtomic && traits.isDurable)
    #expect(traits.seesOtherProcesses && traits.excludesOtherProcesses)
    #expect(traits.maximumValueByteCount == 16 << 20)
    #expect(try store.protection().description.contains("opens with key"))
  }

  @Test func `two handles of one process see each other's changes immediately`() throws {
    let other = try scratch.open()
    for round in 0..<20 {
      let (writer, reader) = round.isMultiple(of: 2) ? (store, other) : (other, store)
      try writer.put("\(round)", as: "shared")
      #expect(try reader.text("shared") == "\(round)")
      try writer.put("\(round)", as: "item \(round)")
      #expect(try reader.names(in: nil).count == round + 2)
      try writer.remove(name("item \(round)"))
      try reader.put("again", as: "item \(round)")
      #expect(try writer.text("item \(round)") == "again")
    }
    #expect(try store.verify().findings == [])
  }

  @Test func `a handle continues to work after another handle compacted the store`() throws {
    try store.put("kept", as: "kept")
    try store.put("first", as: "changed")
    let other = try scratch.open()
    #expect(try other.text("changed") == "first")
    try store.put("second", as: "changed")
    #expect(try store.compact() > 0)
    #expect(try other.text("changed") == "second")
    #expect(try other.text("kept") == "kept")
    try other.put("third", as: "changed")
    #expect(try store.text("changed") == "third")
  }

  @Test func `a store is the same at another path, and its copy is another store`() throws {
    try FileManager.default.createSymbolicLink(
      atPath: scratch["link"], withDestinationPath: scratch.place)
    try FileManager.default.copyItem(atPath: scratch.path, toPath: scratch["copy"])
    let (linked, copy) = (scratch["link/store"], scratch["copy"])
    let others = try [scratch.path, linked, copy].map {
      try SealedFileStore.open(at: $0, key: scratch.key)
    }
    #expect(try others.map { try store.isSameStore(as: $0) } == [true, true, false])
    for path in [scratch.path, copy] { try FileManager.default.removeItem(atPath: "\(path)/lock") }
    #expect(try store.isSameStore(as: others[0]))
    #expect(try !store.isSameStore(as: others[2]))
  }

  @Test func `the async operations return the same as the blocking ones`() async throws {
    let item = try name("token")
    try await store.put(secret("value"), for: item)
    let (value, isThere) = (try await store.value(for: item), try await store.contains(item))
    let (all, none) = (try await store.names(in: nil), try await store.names(in: "absent"))
    #expect(value == secret("value"))
    #expect(isThere)
    #expect(all == [item])
    #expect(none == [])

    try await store.apply([.put(secret("1"), for: name("a")), .remove(item)])
    let (after, isStillThere) = (try await store.value(for: item), try await store.contains(item))
    #expect(after == nil)
    #expect(!isStillThere)
  }

  @Test func `the async operations fail as the blocking ones do`() async throws {
    let name = try name("token")
    let tooLarge = SecretBytes([UInt8](repeating: 0, count: (16 << 20) + 1))
    do {
      try await store.put(tooLarge, for: name)
      Issue.record("a value that is too large was accepted")
    } catch StoreError.valueTooLarge {
    }
    store.lock()
    do {
      _ = try await store.value(for: name)
      Issue.record("a locked store returned a value")
    } catch StoreError.locked {
    }
  }

  @Test func `reading changes no file`() throws {
    try store.put("value", as: "item")
    let before = try RecordedDisk.read(scratch.path)
    let reader = try scratch.open()
    _ = try reader.contents()
    _ = try reader.value(for: name("absent"))
    _ = try reader.contains(name("absent"))
    _ = try reader.verify()
    _ = try reader.keySlots()
    #expect(try RecordedDisk.read(scratch.path) == before)
  }
}
