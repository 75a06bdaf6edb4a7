import SealedStore
import SessionToolsBase
import Testing

@Suite struct ChangeListTests {
  let scratch: Scratch
  let store: SealedFileStore

  init() throws {
    scratch = try Scratch()
    store = try scratch.create()
    try store.put("old", as: "there")
  }

  private func length() throws -> Int { try scratch.bytes(of: "journal").count }

  @Test func `changes take effect in the order of the list`() throws {
    try store.apply([
      .put(secret("first"), for: name("twice")), .put(secret("new"), for: name("there")),
      .put(secret("second"), for: name("twice")),
    ])
    #expect(try store.text("twice") == "second")
    #expect(try scratch.open().text("twice") == "second")
    #expect(try scratch.open().text("there") == "new")
  }

  @Test func `an item put and then removed in one list is absent`() throws {
    try store.apply([
      .put(secret("1"), for: name("brief")), .remove(name("brief")),
      .put(secret("2"), for: name("other")),
    ])
    for reader in try [store, scratch.open()] {
      #expect(try reader.text("brief") == nil)
      #expect(try reader.text("other") == "2")
    }
  }

  @Test func `an item removed and then put in one list is there`() throws {
    try store.apply([.remove(name("there")), .put(secret("back"), for: name("there"))])
    for reader in try [store, scratch.open()] {
      #expect(try reader.text("there") == "back")
    }
  }

  @Test func `removing what is absent writes nothing`() throws {
    let before = try length()
    try store.remove(name("absent"))
    try store.apply([.remove(name("absent")), .remove(name("absent too"))])
    #expect(try length() == before)
    try store.remove(name("there"))
    let after = try length()
    #expect(after > before)
    try store.remove(name("there"))
    #expect(try length() == after)
  }

  @Test func `an empty list writes nothing`() throws {
    let before = try length()
    try store.apply([])
    #expect(try length() == before)
  }

  @Test func `a list of a thousand changes is one change`() throws {
    let changes = try (0..<1000).map { number in
      StoreChange.put(secret("\(number)"), for: try name("\(number)"))
    }
    let mark = try scratch.bytes(of: "mark")
    try store.apply(changes)
    #expect(try scratch.open().names(in: nil).count == 1001)
    #expect(try scratch.open().text("777") == "777")

    // If the change is cut anywhere before it was marked, no part of it counts.
    let journal = try scratch.bytes(of: "journal")
    for length in [journal.count - 1, journal.count / 2, journal.count / 3] {
      try scratch.overwrite("journal", with: Array(journal[..<length]))
      try scratch.overwrite("mark", with: mark)
      #expect(try scratch.open().contents() == [name("there"): Array("old".utf8)])
    }
  }

  @Test func `a list that is refused for one item changes no other`() throws {
    let tooLarge = SecretBytes([UInt8](repeating: 0, count: (16 << 20) + 1))
    let before = try length()
    let code = try code {
      try store.apply([
        .remove(name("there")), .put(secret("1"), for: name("a")), .put(tooLarge, for: name("b")),
      ])
    }
    #expect(code == StoreError.valueTooLarge)
    #expect(try length() == before)
    #expect(try store.contents() == [name("there"): Array("old".utf8)])
  }
}
