import Foundation
import SealedStore
import SessionToolsBase

/// Adds one to the number in a plain file, TIMES times: `count DIRECTORY KEYFILE FILE TIMES`.
///
/// Has exclusive access to a name of the store each time.
func countExclusively() throws {
  let store = try openStore()
  let file = URL(filePath: argument(3))
  let name = try ItemName("counter", in: "worker")
  for _ in 0..<number(4) {
    try store.withExclusiveAccess(to: name, timeout: .seconds(60)) {
      let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
      guard let count = Int(text) else { fail("'\(text)' is not a number") }
      try Data("\(count + 1)".utf8).write(to: file)
    }
  }
  say("done")
}

/// Holds exclusive access to the counter until it reads a line: `hold DIRECTORY KEYFILE`.
func holdName() throws {
  let store = try openStore()
  try store.withExclusiveAccess(to: ItemName("counter", in: "worker"), timeout: .seconds(60)) {
    say("held")
    _ = readLine()
  }
  say("released")
}
