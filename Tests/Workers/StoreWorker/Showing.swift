import Foundation
import SealedStore
import SessionToolsBase

/// `show DIRECTORY KEYFILE BYTES`: opens a store, and prints, now and after each line that it
/// reads, its items, whether the store is sound, and the outcome of a change of BYTES bytes.
func showUntilInputEnds() throws {
  let store: SealedFileStore
  do {
    store = try openStore()
  } catch let error as StoreError {
    return say("\(error.code)")
  }
  repeat {
    do {
      say(try description(of: store))
    } catch let error as StoreError {
      say("\(error.code)")
    }
  } while readLine() != nil
}

private func description(of store: SealedFileStore) throws -> String {
  let items = try store.names(in: nil).map { name in
    let value = try store.value(for: name).map { $0.copyBytes() } ?? []
    let text = value.count > 20 ? "\(value.count)" : String(decoding: value, as: UTF8.self)
    return "\(name.identifier)=\(text)"
  }
  let findings = try store.verify().findings.map(\.part.rawValue)
  let name = try ItemName("new", in: "worker")
  let value = SecretBytes([UInt8](repeating: 1, count: number(3)))
  let outcome = storeOutcome { try store.put(value, for: name) }
  return
    ([items.isEmpty ? "nothing" : items.joined(separator: " ")]
    + [findings.isEmpty ? "sound" : findings.joined(separator: " "), outcome])
    .joined(separator: ", ")
}
