import DatabaseStore
import Foundation
import SessionToolsBase

/// Seals everything again, and reports how far it is; then it waits for a line of its input, or its
/// end.
func rotate() throws {
  let store = try openStore()
  say("opened")
  try store.rotate { done, _ in
    say("done \(done)")
    _ = readLine()
  }
  say("rotated")
}

/// Puts increasing numbers into a few items that no other process changes, until its input ends,
/// and reports the last number of each; every one of them must be read as it was put.
func fill() throws {
  let store = try openStore()
  let items = try (0..<3).map { try ItemName("\(argument(6)) \($0)", in: "fleet") }
  Input.watch()
  say("opened")
  var number = 0
  var last = ["", "", ""]
  while !Input.isOver || number < 3 {
    let position = number % 3
    let value = SecretBytes(utf8: "\(number)")
    try store.apply([.put(value, for: items[position])])
    guard try store.value(for: items[position]) == value else {
      fail("\(items[position]) has another value")
    }
    last[position] = "\(number)"
    number += 1
  }
  for (item, number) in zip(items, last) { say("last \(item.identifier) \(number)") }
  say("ended")
}
