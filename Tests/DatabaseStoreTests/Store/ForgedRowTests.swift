import DatabaseStore
import SealedStore
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// What someone without the keys writes into rows to harm those who read them.
@Suite(.onOwnThread) struct `a forged row` {
  private let names: [ItemName]

  init() throws {
    names = try (0..<3).map { try ItemName("\($0)", in: "svc") }
  }

  /// Makes a column of one or all rows as long as a number of bytes.
  private func lengthen(
    _ column: String, to byteCount: Int, of rows: String = "true", in made: StoreOnServer
  ) async throws {
    try await made.ask(
      "UPDATE $.item SET \(column) = repeat('x', \(byteCount))::bytea WHERE \(rows)")
  }

  /// A condition for one of the rows.
  private static func row(_ number: Int) -> String {
    "tag = (SELECT tag FROM $.item ORDER BY tag OFFSET \(number) LIMIT 1)"
  }

  @Test func `takes no more memory of its readers the longer it is`() async throws {
    let made = try await StoreOnServer()
    let directory = try TemporaryDirectory()
    let key = try made.addKeyFile(in: directory)
    try made.fill(names.count)
    for (number, column) in ["name", "nonce"].enumerated() {
      try await lengthen(column, to: 64 << 20, of: Self.row(number), in: made)
    }
    let lines = try await StoreProcess("read", made.location, key).finish()
    let words = try #require(lines.last).split(separator: " ").compactMap { Int($0) }
    try #require(words.count == 3, "\(lines)")
    #expect(words[0] == 1 && words[1] == 1)
    // What a program of this size uses.
    #expect(words[2] << 10 < 80 << 20)
  }

  @Test func `is corrupt when a column is too long, and so is the header`() async throws {
    let made = try await StoreOnServer()
    try made.fill(names.count)
    try await made.ask("CREATE TABLE $.before AS SELECT * FROM $.item")
    for column in ["name", "nonce", "write", "value"] {
      try await lengthen(column, to: 2 << 20, in: made)
      let store = try made.reopened()
      if column != "value" {
        #expect(try code { _ = try store.names(in: nil) } == .corrupt, "\(column)")
        #expect(try code { _ = try store.contains(names[0]) } == .corrupt, "\(column)")
        #expect(try code { _ = try store.present(among: names) } == .corrupt, "\(column)")
      }
      if column != "name" {
        #expect(try code { _ = try store.value(for: names[0]) } == .corrupt, "\(column)")
        #expect(try code { _ = try store.values(ofFirst: names[...]) } == .corrupt, "\(column)")
      }
      try await made.ask("DELETE FROM $.item; INSERT INTO $.item SELECT * FROM $.before")
    }
    // Of its primary key, as much as an index takes in.
    for column in ["ns", "tag"] {
      try await lengthen(column, to: 2000, of: Self.row(0), in: made)
      #expect(try code { _ = try made.reopened().names(in: nil) } == .corrupt, "\(column)")
      try await made.ask("DELETE FROM $.item; INSERT INTO $.item SELECT * FROM $.before")
    }
    #expect(try await made.reopened().text(for: names[2]) == "value 2")
    try await made.ask("UPDATE $.header SET bytes = repeat('x', 4194304)::bytea")
    #expect(try code { _ = try made.reopened() } == .corrupt)
  }

  /// The version before the last one is not checked by anyone who puts the item again.
  @Test func `cannot have a version that ends those who put its item`() async throws {
    let made = try await StoreOnServer()
    try await made.store.put("one", for: names[0])
    try await made.ask("UPDATE $.item SET version = \(Int64.max - 1)")
    let other = try made.reopened()
    let changes: [StoreChange] = [.put(SecretBytes(utf8: "two"), for: names[0])]
    // This one may still be made, with the last version.
    _ = try code { try other.apply(changes) }
    #expect(try code { try other.apply(changes) } == .corrupt)
    #expect(try code { try made.reopened().apply(changes) } == .corrupt)
  }
}
