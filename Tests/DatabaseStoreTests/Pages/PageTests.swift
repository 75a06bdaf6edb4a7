import SessionToolsDatabaseServer
import DatabaseStore
import SealedStore
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Lists and migrations, which read a store page by page.
@Suite(.onOwnThread) struct `pages of a database` {
  @Test func `have every item once, while others are put and removed`() async throws {
    let made = try await StoreOnServer()
    let count = TestSize.choose(small: 1100, medium: 2300, large: 20_000)
    try made.fill(count)
    let other = try made.reopened()
    let changes = Task.detached {
      try await onThread {
        for number in 0..<40 {
          let moving = try ItemName("moving \(number)", in: "svc")
          try other.apply([.put(SecretBytes(utf8: "x"), for: moving)])
          try other.apply([.remove(moving)])
        }
      }
    }
    for _ in 0..<3 {
      let names = try await made.store.names(in: nil)
      #expect(names.isSorted && Set(names).count == names.count)
      #expect(names.count { !$0.identifier.hasPrefix("moving") } == count)
    }
    try await changes.value
    #expect(try made.store.listing().names.count == count)
  }

  @Test func `of one namespace have no item of another one`() async throws {
    let made = try await StoreOnServer()
    try made.fill(1001)
    let namespaces = try (0..<3).map { number in
      try StoreNamespace(
        service: "svc", install: InstallIdentifier(rawValue: "\(number)"))
    }
    for namespace in namespaces {
      try await made.store.put("x", for: ItemName("item", in: namespace))
    }
    #expect(try await made.store.names(in: StoreNamespace(service: "svc")).count == 1001)
    for namespace in namespaces {
      #expect(
        try await made.store.names(in: namespace) == [ItemName("item", in: namespace)])
    }
  }

  @Test func `are listed without rows that do not open, and say so`() async throws {
    let made = try await StoreOnServer()
    try made.fill(3)
    #expect(try made.store.listing().damage == nil)
    try await made.ask(
      """
      UPDATE $.item SET name = set_byte(name, 20, get_byte(name, 20) # 1)
      WHERE tag = (SELECT tag FROM $.item ORDER BY tag LIMIT 1)
      """)
    #expect(try code { _ = try made.store.names(in: nil) } == .corrupt)
    let listing = try made.store.listing()
    #expect(listing.names.count == 2)
    #expect(listing.damage?.code == .corrupt)
  }

  @Test func `show an item that is older than it was`() async throws {
    let made = try await StoreOnServer()
    let item = try ItemName("item", in: "svc")
    try await made.store.put("old", for: item)
    try await made.ask("CREATE TABLE $.before AS SELECT * FROM $.item")
    try await made.store.put("new", for: item)
    try await made.ask("DELETE FROM $.item; INSERT INTO $.item SELECT * FROM $.before")
    #expect(try code { _ = try made.store.names(in: nil) } == .corrupt)
    #expect(try code { _ = try made.store.values(ofFirst: [item]) } == .corrupt)
    try await made.ask("DELETE FROM $.item")
    #expect(try code { _ = try made.store.values(ofFirst: [item]) } == .corrupt)
    made.store.forgetSeenVersions()
    #expect(try made.store.values(ofFirst: [item]) == [nil])
  }

  @Test func `of values are read a hundred at a time, and fewer when they are large`()
    async throws
  {
    let made = try await StoreOnServer()
    try made.fill(250)
    let names = try await made.store.names(in: nil)
    let absent = try ItemName("absent", in: "svc")
    var asked = names[...]
    var values: [SecretBytes?] = []
    while !asked.isEmpty {
      let page = try made.store.values(ofFirst: asked)
      #expect(page.count == min(100, asked.count))
      values += page
      asked = asked.dropFirst(page.count)
    }
    #expect(values == names.map { SecretBytes(utf8: "value \($0.identifier)") })
    #expect(try made.store.values(ofFirst: [absent, names[0]])[0] == nil)

    // Values of a mebibyte: some megabytes of them, and the others have to be read one by one.
    let large = try (0..<7).map { try ItemName("large \($0)", in: "large") }
    let value = SecretBytes([UInt8](repeating: 7, count: 1 << 20))
    for name in large { try await made.store.put(value, for: name) }
    let page = try made.store.values(ofFirst: large[...])
    #expect(page.count == 7)
    #expect(page.count { $0 == value } == 4)
    #expect(page.count { $0 == nil } == 3)
  }

  /// The large size is what a service with a million users has.
  @Test func `take no more memory the more there are`() async throws {
    let made = try await StoreOnServer()
    let directory = try TemporaryDirectory()
    let key = try made.addKeyFile(in: directory)
    let count = TestSize.choose(small: 2000, medium: 5000, large: 1_000_000)
    try made.fill(count)
    let lines = try await StoreProcess("read", made.location, key).finish()
    let words = try #require(lines.last).split(separator: " ").compactMap { Int($0) }
    try #require(words.count == 3, "\(lines)")
    #expect(words[0] == count && words[1] == count)
    if TestSize.current == .large { print("\(count) items: at most \(words[2]) KiB") }
    // What a program of this size uses, a page, and the versions that were seen last.
    #expect(words[2] << 10 < 80 << 20)
  }
}

extension [ItemName] {
  fileprivate var isSorted: Bool { zip(self, dropFirst()).allSatisfy { $0 < $1 } }
}
