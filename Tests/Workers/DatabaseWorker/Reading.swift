import DatabaseStore
import Foundation
import SessionToolsBase

/// Lists all items and reads all values as a migration does; reports how many there were of both,
/// and the most memory that this took, in KiB.
func readEverything() throws {
  let store = try openStore()
  var pages = try store.pages()
  var (nameCount, valueCount) = (0, 0)
  while let page = try pages.next() {
    nameCount += page.names.count
    var rest = page.names[...]
    while !rest.isEmpty {
      let values = try store.values(ofFirst: rest)
      valueCount += values.count { $0 != nil }
      rest = rest.dropFirst(values.count)
    }
  }
  say("\(nameCount) \(valueCount) \(try peakOfMemory())")
}

func peakOfMemory() throws -> Int {
  let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
  guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") }),
    let number = line.split(whereSeparator: { !$0.isNumber }).first.flatMap({ Int($0) })
  else { fail("the system does not say how much memory was used") }
  return number
}
