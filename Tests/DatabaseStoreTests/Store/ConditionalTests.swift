import DatabaseServer
import DatabaseStore
import SealedStore
import SessionToolsBase
import TestSupport
import TestThreads
import Testing

/// Changes that depend on what is stored.
@Suite(.onOwnThread) struct `a change if an item is stored` {
  private let (item, mark): (StoreKey, StoreKey)

  init() throws {
    item = try StoreKey("item", in: "svc")
    mark = try SpentNotice.key(for: item)
  }

  private func version(_ text: String) -> ItemVersion { ItemVersion(SecretBytes(utf8: text)) }

  @Test func `is made for the versions given, and for no others`() async throws {
    let made = try await StoreOnServer()
    let store = made.store
    let put = [StoreChange.put(SecretBytes(utf8: "new"), for: item)]
    #expect(try await store.apply(put, if: item, isOneOf: [version("old")]) == .noItem)
    try await store.put("old", for: item)
    #expect(try await store.apply(put, if: item, isOneOf: [version("x")]) == .otherItem)
    #expect(try await store.text(for: item) == "old")
    let made1 = try await store.apply(put, if: item, isOneOf: [version("x"), version("old")])
    #expect(made1 == .made)
    #expect(try await store.text(for: item) == "new")
    let removal = [StoreChange.remove(item), .remove(mark)]
    #expect(try await store.apply(removal, if: item, isOneOf: [version("new")]) == .made)
    #expect(try await store.apply(removal, if: item, isOneOf: [version("new")]) == .noItem)
  }

  @Test func `does not change the item that it only looks at`() async throws {
    let made = try await StoreOnServer()
    try await made.store.put("old", for: item)
    let before = try await made.ask("SELECT version FROM $.item")
    let change = [StoreChange.put(SecretBytes(utf8: "1"), for: mark)]
    #expect(try await made.store.apply(change, if: item, isOneOf: [version("old")]) == .made)
    #expect(try await made.store.text(for: mark) == "1")
    let versions = try await made.ask("SELECT version FROM $.item ORDER BY version LIMIT 1")
    #expect(versions == before)
  }

  @Test func `reads no item again that was read under the same access`() async throws {
    let made = try await StoreOnServer()
    try await made.store.put("old", for: item)
    var place = made.place
    place.address += " options='-c log_statement=all'"
    let store = try place.reopened()
    func readCount() async throws -> Int {
      let log = try await DatabaseServer.shared().log
      let reads = log.split(separator: "LOG:  execute value:").dropFirst()
      return reads.count { $0.contains(place.options.schema) }
    }
    try await store.withExclusiveAccess(to: mark, timeout: patience) {
      let text = try await store.text(for: item)
      #expect(text == "old")
      #expect(try await readCount() == 1)
      let changes = [StoreChange.put(SecretBytes(utf8: "1"), for: mark)]
      #expect(try await store.apply(changes, if: item, isOneOf: [version("old")]) == .made)
      #expect(try await readCount() == 1)
    }
    let changes = [StoreChange.remove(mark)]
    #expect(try await store.apply(changes, if: item, isOneOf: [version("old")]) == .made)
    #expect(try await readCount() == 2)
  }

  /// The second time, the item is the same again, in another version of its row.
  @Test func `looks again when the item was changed since it was read`() async throws {
    let made = try await StoreOnServer()
    let (store, other) = (made.store, try made.reopened())
    try await store.put("old", for: item)
    let changes = [StoreChange.put(SecretBytes(utf8: "new"), for: item)]
    try await store.withExclusiveAccess(to: mark, timeout: patience) {
      #expect(try await store.text(for: item) == "old")
      try await other.put("other", for: item)
      #expect(try await store.apply(changes, if: item, isOneOf: [version("old")]) == .otherItem)
      #expect(try await store.text(for: item) == "other")
      try await other.put("another", for: item)
      try await other.put("other", for: item)
      #expect(try await store.apply(changes, if: item, isOneOf: [version("other")]) == .made)
      try await other.remove(item)
      #expect(try await store.apply(changes, if: item, isOneOf: [version("new")]) == .noItem)
    }
  }

  /// Without the check in the statement, a mark would be put for an item that is gone.
  @Test func `is never made beside an item that was changed meanwhile`() async throws {
    let made = try await StoreOnServer()
    let stores = [made.store, try made.reopened()]
    try await stores[0].put("0", for: item)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        for number in 1...40 {
          try await stores[0].apply([
            .put(SecretBytes(utf8: "\(number)"), for: item),
            .put(SecretBytes(utf8: "\(number)"), for: mark),
          ])
        }
      }
      group.addTask {
        for _ in 1...40 {
          guard let text = try await stores[1].text(for: item) else { continue }
          // Puts what is there: no one can see a mark that differs from its item.
          let change = [StoreChange.put(SecretBytes(utf8: text), for: mark)]
          let outcome = try await stores[1].apply(change, if: item, isOneOf: [version(text)])
          #expect(outcome != .noItem)
        }
      }
      group.addTask {
        let keys = [item, mark]
        for _ in 1...40 {
          let values = try stores[1].values(ofFirst: keys[...])
          let texts = values.map { $0.map { String(decoding: $0.copyBytes(), as: UTF8.self) } }
          #expect(texts[1] == nil || texts[0] == texts[1])
        }
      }
      try await group.waitForAll()
    }
  }
}
