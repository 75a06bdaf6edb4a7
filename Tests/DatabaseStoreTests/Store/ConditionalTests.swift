import SessionToolsDatabaseServer
import DatabaseStore
import SealedStore
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Changes that depend on what is stored.
@Suite(.onOwnThread) struct `a change if an item is stored, or is not` {
  private let (item, other): (ItemName, ItemName)

  init() throws {
    item = try ItemName("item", in: "svc")
    other = try ItemName("other", in: "svc")
  }

  private func isStored(_ texts: String...) -> ItemCondition {
    .stored(item, isOneOf: Set(texts.map { ItemVersion(SecretBytes(utf8: $0)) }))
  }

  @Test func `is made for the versions given, and for no others`() async throws {
    let made = try await StoreOnServer()
    let store = made.store
    let put = [StoreChange.put(SecretBytes(utf8: "new"), for: item)]
    #expect(try await store.asyncApply(put, if: isStored("old")) == .noItem)
    try await store.put("old", for: item)
    #expect(try await store.asyncApply(put, if: isStored("x")) == .otherItem)
    #expect(try await store.text(for: item) == "old")
    let made1 = try await store.asyncApply(put, if: isStored("x", "old"))
    #expect(made1 == .made)
    #expect(try await store.text(for: item) == "new")
    let removal = [StoreChange.remove(item), .remove(other)]
    #expect(try await store.asyncApply(removal, if: isStored("new")) == .made)
    #expect(try await store.asyncApply(removal, if: isStored("new")) == .noItem)
  }

  @Test func `does not change the item that it only looks at`() async throws {
    let made = try await StoreOnServer()
    try await made.store.put("old", for: item)
    let before = try await made.ask("SELECT version FROM $.item")
    let change = [StoreChange.put(SecretBytes(utf8: "1"), for: other)]
    #expect(try await made.store.asyncApply(change, if: isStored("old")) == .made)
    #expect(try await made.store.text(for: other) == "1")
    let versions = try await made.ask("SELECT version FROM $.item ORDER BY version LIMIT 1")
    #expect(versions == before)
  }

  @Test func `is made for an item that must be absent if it never was there, or is gone`()
    async throws
  {
    let made = try await StoreOnServer()
    let store = made.store
    func put(_ text: String) async throws -> ChangeOutcome {
      try await store.asyncApply([.put(SecretBytes(utf8: text), for: item)], if: .isAbsent(item))
    }
    #expect(try await put("first") == .made)
    #expect(try await put("second") == .otherItem)
    #expect(try await made.reopened().text(for: item) == "first")
    try await store.remove(item)
    #expect(try await put("third") == .made)
    #expect(try await put("fourth") == .otherItem)
    #expect(try await made.reopened().text(for: item) == "third")
  }

  @Test func `is made beside an item that must be absent, and leaves it so`() async throws {
    let made = try await StoreOnServer()
    let store = made.store
    func put(_ text: String) async throws -> ChangeOutcome {
      try await store.asyncApply([.put(SecretBytes(utf8: text), for: other)], if: .isAbsent(item))
    }
    // The first time there is no row of the item, and then there is one of its removal.
    for text in ["first", "second"] {
      #expect(try await put(text) == .made)
      #expect(try await made.reopened().text(for: other) == text)
      #expect(try await made.reopened().names(in: nil) == [other])
    }
    try await store.put("item", for: item)
    #expect(try await put("third") == .otherItem)
    #expect(try await store.text(for: other) == "second")
    #expect(try await store.text(for: item) == "item")
  }

  @Test(arguments: [false, true])
  func `is made by one of many that require an item to be absent`(isGone: Bool) async throws {
    let made = try await StoreOnServer()
    let stores = try (0..<4).map { _ in try made.reopened() }
    for round in 0..<10 {
      let item = try ItemName("\(round)", in: "svc")
      if isGone {
        try await made.store.put("old", for: item)
        try await made.store.remove(item)
      }
      let winners = try await withThrowingTaskGroup(of: String?.self) { group in
        for (number, store) in stores.enumerated() {
          group.addTask {
            let put = StoreChange.put(SecretBytes(utf8: "\(number)"), for: item)
            let outcome = try await store.asyncApply([put], if: .isAbsent(item))
            return outcome == .made ? "\(number)" : nil
          }
        }
        return try await group.reduce(into: [String]()) { $0 += $1.map { [$0] } ?? [] }
      }
      #expect(winners.count == 1)
      #expect(try await made.store.text(for: item) == winners.first)
    }
  }

  /// A statement that looked for the other item without locking its place would let both be made.
  @Test func `is not made beside an item that is put if the first one is absent`() async throws {
    let made = try await StoreOnServer()
    let stores = [made.store, try made.reopened()]
    for round in 0..<20 {
      let names = try ["a", "b"].map { try ItemName("\($0) \(round)", in: "svc") }
      let madeCount = try await withThrowingTaskGroup(of: Bool.self) { group in
        for number in 0..<2 {
          group.addTask {
            let put = StoreChange.put(SecretBytes(utf8: "x"), for: names[number])
            return try await stores[number].asyncApply([put], if: .isAbsent(names[1 - number]))
              == .made
          }
        }
        return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
      }
      #expect(madeCount == 1)
      #expect(try made.store.present(among: names).count == 1)
    }
  }

  @Test func `reads no item again that was read under the same access`() async throws {
    let made = try await StoreOnServer()
    try await made.store.put("old", for: item)
    let logged = try await LoggedStore(made)
    let store = logged.store
    try await store.withExclusiveAccess(to: item.refreshLock, timeout: patience) {
      let text = try await store.text(for: item)
      #expect(text == "old")
      let changes = [StoreChange.put(SecretBytes(utf8: "1"), for: other)]
      #expect(try await store.asyncApply(changes, if: isStored("old")) == .made)
    }
    #expect(try await logged.sent() == ["take", "value", "look", "write", "release"])
    let changes = [StoreChange.put(SecretBytes(utf8: "2"), for: other)]
    #expect(try await store.asyncApply(changes, if: isStored("old")) == .made)
    #expect(try await logged.sent() == ["value", "write"])
  }

  /// The second time, the item is the same again, in another version of its row.
  @Test func `looks again when the item was changed since it was read`() async throws {
    let made = try await StoreOnServer()
    let (store, second) = (made.store, try made.reopened())
    try await store.put("old", for: item)
    let changes = [StoreChange.put(SecretBytes(utf8: "new"), for: item)]
    try await store.withExclusiveAccess(to: item.refreshLock, timeout: patience) {
      #expect(try await store.text(for: item) == "old")
      try await second.put("other", for: item)
      #expect(try await store.asyncApply(changes, if: isStored("old")) == .otherItem)
      #expect(try await store.text(for: item) == "other")
      try await second.put("another", for: item)
      try await second.put("other", for: item)
      #expect(try await store.asyncApply(changes, if: isStored("other")) == .made)
      try await second.remove(item)
      #expect(try await store.asyncApply(changes, if: isStored("new")) == .noItem)
    }
  }

  /// The other item is unknown, so that its row is looked at after the item was compared.
  @Test func `is not made for an item that was changed before its rows were looked at`()
    async throws
  {
    let made = try await StoreOnServer()
    let second = try made.reopened()
    try await made.store.put("old", for: item)
    try await made.store.withExclusiveAccess(to: item.refreshLock, timeout: patience) {
      #expect(try await made.store.text(for: item) == "old")
      try await second.put("changed", for: item)
      let change = [StoreChange.put(SecretBytes(utf8: "1"), for: other)]
      #expect(try await made.store.asyncApply(change, if: isStored("old")) == .otherItem)
    }
    #expect(try await second.text(for: other) == nil)
  }

  /// Without the check in the statement, another item would be put for an item that is gone.
  @Test func `is never made beside an item that was changed meanwhile`() async throws {
    let made = try await StoreOnServer()
    let stores = [made.store, try made.reopened()]
    try await stores[0].put("0", for: item)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        for number in 1...40 {
          try await stores[0].apply([
            .put(SecretBytes(utf8: "\(number)"), for: item),
            .put(SecretBytes(utf8: "\(number)"), for: other),
          ])
        }
      }
      group.addTask {
        for _ in 1...40 {
          guard let text = try await stores[1].text(for: item) else { continue }
          // Puts what is there: no one can see another item that differs from its item.
          let change = [StoreChange.put(SecretBytes(utf8: text), for: other)]
          let outcome = try await stores[1].asyncApply(change, if: isStored(text))
          #expect(outcome != .noItem)
        }
      }
      group.addTask {
        let names = [item, other]
        for _ in 1...40 {
          let values = try stores[1].values(ofFirst: names[...])
          let texts = values.map { $0.map { String(decoding: $0.copyBytes(), as: UTF8.self) } }
          #expect(texts[1] == nil || texts[0] == texts[1])
        }
      }
      try await group.waitForAll()
    }
  }
}
