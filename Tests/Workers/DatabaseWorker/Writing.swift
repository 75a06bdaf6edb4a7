import DatabaseStore
import Foundation
import SessionToolsBase

/// Returns the outcome of a change as a word.
private func outcome(_ body: () throws -> Void) rethrows -> String {
  do {
    try body()
    return "stored"
  } catch let error as StoreError {
    return "\(error.code)"
  }
}

private func number(of item: ItemName, in store: SealedDatabaseStore) throws -> Int {
  guard let value = try store.value(for: item) else { return 0 }
  guard let number = Int(String(decoding: value.copyBytes(), as: UTF8.self)) else {
    fail("the item is no number")
  }
  return number
}

private func put(
  _ number: Int, for item: ItemName, in store: SealedDatabaseStore
) throws -> String {
  try outcome { try store.apply([.put(SecretBytes(utf8: "\(number)"), for: item)]) }
}

/// Takes exclusive access, and puts an item for each line of its input; reports how that ended.
func hold() throws {
  let store = try openStore()
  let (item, name) = (try ItemName("item", in: "fleet"), try ItemName("name", in: "fleet"))
  say("opened")
  _ = readLine()
  try store.withExclusiveAccess(to: name, timeout: .seconds(300)) {
    say("held")
    while let line = readLine() {
      say(try put(Int(line) ?? 0, for: item, in: store))
    }
  }
}

/// Counts an item up with exclusive access to its name, and with nothing else that would keep two
/// processes from putting the same number.
func countUntilInputEnds() throws {
  let store = try openStore()
  let (item, name) = (try ItemName("item", in: "fleet"), try ItemName("name", in: "fleet"))
  Input.watch()
  say("opened")
  while !Input.isOver {
    try store.withExclusiveAccess(to: name, timeout: .seconds(300)) {
      say("held")
      let next = try number(of: item, in: store) + 1
      usleep(UInt32.random(in: 0...20_000))
      say("\(try put(next, for: item, in: store)) \(next)")
    }
  }
  say("ended")
}

/// Puts increasing numbers, and reports each outcome with the milliseconds that it took.
func putUntilInputEnds() throws {
  let store = try openStore()
  let item = try ItemName("item", in: "fleet")
  Input.watch()
  say("opened")
  var number = 0
  while !Input.isOver {
    number += 1
    let start = ContinuousClock.now
    let outcome = try put(number, for: item, in: store)
    say("\(outcome) \(number) \(Int((ContinuousClock.now - start) / .milliseconds(1)))")
    usleep(5000)
  }
  say("ended")
}
