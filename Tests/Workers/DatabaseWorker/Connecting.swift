import DatabaseStore
import Foundation
import SessionToolsBase

/// Connects to a database and runs a statement in a number of milliseconds; reports the error, and
/// by how much this raised the most memory that was used, in KiB.
func askOnce() throws {
  let opening = ConnectionOpening(
    try DatabaseAddress(argument(1)), statements: .named
  ) { () throws(StoreError) in SecretBytes(utf8: "horse") }
  let deadline = ContinuousClock.now + .milliseconds(number(2))
  let before = try peakOfMemory()
  var text = "none"
  do throws(DatabaseFailure) {
    let connection = try opening.open(until: deadline)
    _ = try connection.run(
      // As many bytes as the largest page of a list has.
      DatabaseStatement(name: nil, text: "SELECT 1", rowsByteCount: 12 << 20),
      as: .read, until: deadline)
  } catch {
    text = error.storeError(.read, store: "db").code.description
  }
  say("\(text) \(try peakOfMemory() - before)")
}

/// Ends the process while threads of it open and close connections.
func exitWhileConnecting() {
  for _ in 0..<4 {
    Thread.detachNewThread {
      do {
        while true { _ = try openStore().value(for: ItemName("a", in: "svc")) }
      } catch {
        fail("\(error)")
      }
    }
  }
  Thread.sleep(forTimeInterval: 0.1)
  exit(0)
}
