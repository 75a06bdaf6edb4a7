import DatabaseStore
import Foundation
import SealedStore
import SessionToolsBase

/// Opens a store a number of times and reads the items that `StoreOnServer.fill(_:)` puts, from a
/// server that may answer anything.
///
/// A server can leave out rows, so that an item seems to be missing. Reports each other answer that
/// is not true and each operation that ended too late, and at the end the
/// number of right answers and of errors.
func judge() throws {
  let (timeout, rounds) = (number(4), number(6))
  let options = SealedDatabaseStore.Options(
    schema: argument(2), maximumConnectionCount: 1, operationTimeout: .milliseconds(timeout))
  let key = KeyFile(argument(3))
  let names = try (0..<20).map { try ItemName("\($0)", in: "svc") }
  var (rightCount, errorCount) = (0, 0)
  func value(of name: ItemName) -> SecretBytes { SecretBytes(utf8: "value \(name.identifier)") }
  func check(_ name: String, _ body: () throws(StoreError) -> Bool) {
    let start = ContinuousClock.now
    do throws(StoreError) {
      if try body() { rightCount += 1 } else { say("wrong \(name)") }
    } catch {
      errorCount += 1
    }
    let passed = (ContinuousClock.now - start) / .milliseconds(1)
    if passed > Double(timeout) + 2000 { say("late \(name): \(Int(passed)) ms") }
  }
  for _ in 0..<rounds {
    var opened: SealedDatabaseStore?
    check("open") { () throws(StoreError) in
      opened = try SealedDatabaseStore.open(argument(1), key: key, options: options)
      return true
    }
    guard let store = opened else { continue }
    check("list") { () throws(StoreError) in Set(names).isSuperset(of: try store.names(in: nil)) }
    check("present") { () throws(StoreError) in
      Set(names).isSuperset(of: try store.present(among: names))
    }
    check("values") { () throws(StoreError) in
      let values = try store.values(ofFirst: names[...])
      return zip(names, values).allSatisfy { $1 == nil || $1 == value(of: $0) }
    }
    for name in names.prefix(3) {
      check("get") { () throws(StoreError) in
        let found = try store.value(for: name)
        return found == nil || found == value(of: name)
      }
    }
  }
  say("right \(rightCount), errors \(errorCount)")
}
