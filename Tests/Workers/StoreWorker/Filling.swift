import Foundation
import SealedStore
import SessionToolsBase

/// Fills a small file system that is mounted at a directory.
///
/// `fill DIRECTORY KEYFILE`: prints how the store behaves when the file system is full, and when
/// there is space again.
func fillFileSystem() throws {
  let ballast = argument(1) + "/ballast"
  guard FileManager.default.createFile(atPath: ballast, contents: Data(count: 100_000)) else {
    fail("cannot write \(ballast)")
  }
  let store = try SealedFileStore.create(
    at: argument(1) + "/store", key: KeyFile.create(at: argument(2)))
  let value = SecretBytes([UInt8](repeating: 9, count: 20_000))
  var confirmed: [ItemName] = []
  var outcome = "ok"
  while outcome == "ok" {
    let name = try ItemName("\(confirmed.count)", in: "worker")
    outcome = storeOutcome { try store.put(value, for: name) }
    if outcome == "ok" { confirmed.append(name) }
  }
  say("full \(outcome)")
  let reopened = try SealedFileStore.open(at: store.path, key: KeyFile(argument(2)))
  let areAllThere = try confirmed.allSatisfy { try reopened.value(for: $0) == value }
  let listed = try reopened.names(in: nil)
  if areAllThere, confirmed.count > 10, listed == confirmed.sorted() {
    say("confirmed values kept")
  }
  say("compact " + storeOutcome { try store.compact() })
  say("rotate " + storeOutcome { try store.rotate() })
  // The last free page, if there is one, would be enough for a header.
  let filler = try FileHandle(forWritingTo: URL(filePath: ballast))
  try filler.seekToEnd()
  while (try? filler.write(contentsOf: Data(count: 4096))) != nil {}
  say("slot " + storeOutcome { try store.addSlot(KeyFile(argument(2))) })
  if try store.verify().findings.isEmpty { say("verified") }

  try FileManager.default.removeItem(atPath: ballast)
  try filler.close()
  let name = try ItemName("after", in: "worker")
  try store.put(value, for: name)
  if try reopened.value(for: name) == value { say("works again") }
  if try store.verify().findings.isEmpty { say("verified") }
}
