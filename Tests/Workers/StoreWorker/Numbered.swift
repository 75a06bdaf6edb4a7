import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport

/// `churn DIRECTORY KEYFILE WRITER FIRST`: makes the numbered changes of a writer from FIRST on,
/// without end, with a compaction or a rotation now and then.
///
/// Prints the number of each change once it is confirmed.
func churn() throws {
  let store = try openStore()
  say("ready")
  for number in number(4)...Int.max {
    try store.apply(NumberedChange(number, of: argument(3)).changes)
    say("\(number)")
    if number.isMultiple(of: 17) { try store.compact() }
    if number.isMultiple(of: 23) { try store.rotate() }
  }
}

/// `watch DIRECTORY KEYFILE WRITER...`: checks the numbered changes of the writers until its input
/// ends, and prints how often it did.
///
/// A list of a writer's items, which is one observation, must be that of some change, no older than
/// the change seen before. So must each of the two items that every change puts.
func watchUntilInputEnds() throws {
  let store = try openStore()
  let writers = arguments[3...]
  var seen: [String: Int] = [:]
  var count = 0
  say("ready")
  while !isStopRequested {
    for writer in writers {
      let namespace = try NumberedChange.namespace(of: writer)
      let oldest = seen[writer, default: 0]
      let listed = Set(try store.names(in: namespace))
      for item in ["first", "second"] {
        let value = try store.value(for: ItemName(item, in: namespace))
        let number = value.map { NumberedChange.number(of: $0) } ?? 0
        guard let number, number >= seen[writer, default: 0] else {
          refuse("\(item) of \(writer) is \(number as Any) after \(seen[writer, default: 0])")
        }
        seen[writer] = number
      }
      // The change that was listed lies between those seen before and after. After eleven changes
      // at the latest, the lists repeat.
      let newest = min(seen[writer, default: 0], oldest + 11)
      let isOfSome = try (oldest...newest).contains { number in
        Set(try NumberedChange(number, of: writer).contents.keys) == listed
      }
      if !isOfSome { refuse("no change of \(writer) in \(oldest)...\(newest) has \(listed)") }
      count += 1
    }
  }
  say("\(count)")
}

/// Ends a watcher that saw an impossible state.
private func refuse(_ reason: String) -> Never {
  say(reason)
  exit(1)
}
