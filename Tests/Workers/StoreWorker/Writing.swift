import Foundation
import SealedStore
import SessionToolsBase

/// `put DIRECTORY KEYFILE IDENTIFIER VALUE`: stores one value.
func putOne() throws {
  try openStore().put(SecretBytes(utf8: argument(4)), for: ItemName(argument(3), in: "worker"))
  say("done")
}

/// `write DIRECTORY KEYFILE WRITER FIRST LAST BYTES`: makes changes of three items that belong
/// together, numbered from FIRST to LAST, with values of about BYTES bytes.
///
/// Prints the number of each change once it is confirmed.
func writeWithoutEnd() throws {
  let store = try openStore()
  let writer = argument(3)
  let padding = String(repeating: "x", count: number(6))
  say("ready")
  for number in number(4)...number(5) {
    let value = SecretBytes(utf8: "\(number):\(padding)")
    try store.apply([
      .put(value, for: ItemName("first of \(writer)", in: "worker")),
      .put(SecretBytes(utf8: "\(number)"), for: ItemName("\(writer)/\(number)", in: "worker")),
      .put(value, for: ItemName("second of \(writer)", in: "worker")),
    ])
    say("\(number)")
  }
}

/// `read DIRECTORY KEYFILE WRITER...`: reads alternately the two items that every change of a
/// writer puts, and prints how many it read.
///
/// Each value must be at least as new as the one before: a change of which only one item is there
/// would show as a step back.
func readUntilInputEnds() throws {
  let store = try openStore()
  let writers = arguments[3...]
  var seen: [String: Int] = [:]
  var readingCount = 0
  say("ready")
  while !isStopRequested {
    for writer in writers {
      for item in ["first", "second"] {
        let value = try store.value(for: ItemName("\(item) of \(writer)", in: "worker"))
        let text = value.map { String(decoding: $0.copyBytes(), as: UTF8.self) } ?? "0:"
        guard let number = text.split(separator: ":").first.flatMap({ Int($0) }) else {
          fail("\(item) of \(writer) is not a number")
        }
        if number < seen[writer, default: 0] {
          say("\(item) of \(writer) is \(number) after \(seen[writer, default: 0])")
          exit(1)
        }
        seen[writer] = number
        readingCount += 1
      }
    }
  }
  say("\(readingCount)")
}

/// Whether the standard input has data or has ended.
var isStopRequested: Bool {
  var input = pollfd(fd: 0, events: Int16(POLLIN), revents: 0)
  return unsafe poll(&input, 1, 0) > 0
}
