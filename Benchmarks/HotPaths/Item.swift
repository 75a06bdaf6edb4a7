import Foundation

/// An item as a session stores it, of any length that a measurement needs.
struct Item: Codable {
  let name: String
  let scopes: [String]
  let made: Int
  let token: String

  /// Makes an item whose JSON has the given number of bytes.
  init(byteCount: Int) throws {
    let empty = try JSONEncoder().encode(Item(token: "")).count
    guard byteCount >= empty else { throw Failure("an item has at least \(empty) bytes") }
    self.init(token: String(repeating: "a", count: byteCount - empty))
  }

  private init(token: String) {
    name = "Ada Lovelace"
    scopes = ["mail"]
    made = 1_700_000_000
    self.token = token
  }
}
