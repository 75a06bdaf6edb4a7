import Foundation
import SealedStore
import SessionToolsBase

/// `live DIRECTORY KEYFILE`: makes a store and does a little of everything.
///
/// Prints the outcome of each step, and stops after the first that failed.
func live() throws {
  let key = KeyFile(argument(2))
  var store: SealedFileStore?
  let steps: [(String, () throws -> Void)] = [
    ("create", { store = try SealedFileStore.create(at: argument(1), key: key) }),
    ("put", { try store?.put(SecretBytes(utf8: "1"), for: ItemName("item", in: "worker")) }),
    ("compact", { _ = try store?.compact() }),
    ("rotate", { try store?.rotate() }),
    ("cut off", { try cutOffTail() }),
    ("read", { try readItem() }),
  ]
  for (name, step) in steps {
    let outcome = storeOutcome(step)
    say("\(name) \(outcome)")
    if outcome != "ok" { return }
  }
}

/// Appends the beginning of a write, and lets the next writer cut it off.
private func cutOffTail() throws {
  let files = LinuxFileSystem()
  let directory = try files.openDirectory(argument(1))
  let journal = try files.open("journal", in: directory, .readWrite)
  let end = try files.status(of: journal).byteCount
  try files.writeAll(ByteBuffer([1, 2, 3]), 0..<3, to: journal, at: end)
  files.close(journal)
  files.close(directory)
  try openStore().put(SecretBytes(utf8: "2"), for: ItemName("item", in: "worker"))
}

private func readItem() throws {
  guard try openStore().value(for: ItemName("item", in: "worker")) == SecretBytes(utf8: "2") else {
    fail("another value")
  }
}
