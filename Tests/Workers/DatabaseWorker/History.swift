import Foundation
import SessionToolsBase
import SessionToolsStoreTestSupport
import Synchronization

/// Makes operations on the shared items, and writes them, each with its two moments, to one file
/// per group of items in the directory OUTPUT.
func recordHistory() throws {
  let client = number(6)
  let log = try HistoryLog(in: URL(filePath: argument(7)), client: client)
  let store = try openStore()
  var recorder = HistoryRecorder(
    client: client,
    willChange: { group, change in
      do { try log.begin(change, ofGroup: group) } catch { fail("\(error)") }
    })
  Input.watch()
  say("opened")
  while !Input.isOver {
    do {
      try recorder.makeOperation(with: store)
    } catch let error as StoreError {
      // What a server does to its clients while it dies; nothing else may happen.
      let expected: Set<StoreError.Code> = [.timedOut, .unavailable, .outcomeUnknown]
      guard expected.contains(error.code) else { throw error }
    }
    try log.update(recorder.operations)
  }
  say("ended")
}

/// The standard input of a command that goes on until it ends.
enum Input {
  private static let isAtEnd = Atomic(false)

  /// Whether it has ended.
  static var isOver: Bool { isAtEnd.load(ordering: .acquiring) }

  /// Reads it until it ends, on a thread.
  static func watch() {
    Thread.detachNewThread {
      while readLine() != nil {}
      isAtEnd.store(true, ordering: .releasing)
    }
  }
}
