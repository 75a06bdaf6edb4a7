import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport

/// `history DIRECTORY KEYFILE CLIENT COUNT OUTPUT`: makes COUNT operations on the shared items and
/// writes them, each with its two moments, to one file per group of items in the directory OUTPUT.
func recordHistory() throws {
  var recorder = HistoryRecorder(client: number(3))
  var store = try openStore()
  for count in 0..<number(4) {
    // What the store holds after it is reopened is part of the history, too.
    if count.isMultiple(of: 2000) { store = try openStore() }
    try recorder.makeOperation(with: store)
  }
  for (group, operations) in recorder.operations.enumerated() {
    try HistoryFile.write(
      operations, to: URL(filePath: argument(5)).appending(path: "\(argument(3))-\(group)"))
  }
  say("done")
}

/// `rewrite DIRECTORY KEYFILE compact|rotate`: rewrites the journal again and again until its input
/// ends, and prints how often.
///
/// Between two rewritings, it reads often enough to give writers their turn.
func rewriteUntilInputEnds() throws {
  let store = try openStore()
  let name = try SharedItems.name(group: 0, item: 0)
  var count = 0
  say("ready")
  while !isStopRequested {
    if argument(3) == "rotate" { try store.rotate() } else { try store.compact() }
    count += 1
    for _ in 0..<2000 where !isStopRequested { _ = try store.value(for: name) }
  }
  say("\(count)")
}
