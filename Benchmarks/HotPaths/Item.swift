import Foundation

/// What a session keeps, as large as a measurement wants it.
struct Item: Codable {
  let name: String
  let scopes: [String]
  let made: Int
  let token: String

  /// Makes an item that is so many bytes of JSON.
  init(byteCount: Int) throws {
    let empty = try JSONEncoder().encode(Item(token: "")).count
    guard byteCount >= empty else { throw Failure("an item has \(empty) bytes at least") }
    self.init(token: String(repeating: "a", count: byteCount - empty))
  }

  private init(token: String) {
    name = "Ada Lovelace"
    scopes = ["mail"]
    made = 1_700_000_000
    self.token = token
  }
}
