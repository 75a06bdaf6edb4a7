import DatabaseStore
import SessionToolsBase
import SessionToolsTestThreads
import Testing

/// Which of many names have items, as a migration to a database asks.
@Suite(.onOwnThread) struct `the presence of items in a database` {
  private func names(_ range: Range<Int>) throws -> [ItemName] {
    try range.map { try ItemName("asked \($0)", in: "svc") }
  }

  @Test func `is told for more names than one statement takes, and not of removed items`()
    async throws
  {
    let made = try await StoreOnServer()
    let (there, removed, absent) = (
      try names(0..<1100), try names(1100..<1200), try names(1200..<2100)
    )
    for part in [there[..<600], there[600...], removed[...]] {
      try await made.store.apply(part.map { .put(SecretBytes(utf8: "x"), for: $0) })
    }
    try await made.store.apply(removed.map { .remove($0) })
    for store in [made.store, try made.reopened()] {
      let asked = absent + removed + there
      #expect(try store.present(among: asked) == Set(there))
      #expect(try store.present(among: []).isEmpty)
    }
  }

  @Test func `is not told of rows that do not open or went back`() async throws {
    let made = try await StoreOnServer()
    let names = try names(0..<3)
    try await made.store.apply(names.map { .put(SecretBytes(utf8: "x"), for: $0) })
    try await made.ask("UPDATE $.item SET gone = true")
    #expect(try code { _ = try made.store.present(among: names) } == .corrupt)
    #expect(try code { _ = try made.reopened().present(among: names) } == .corrupt)
    try await made.ask("DELETE FROM $.item")
    #expect(try code { _ = try made.store.present(among: names) } == .corrupt)
    #expect(try made.reopened().present(among: names).isEmpty)
  }
}
