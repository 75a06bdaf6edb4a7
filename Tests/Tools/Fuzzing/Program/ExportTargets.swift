import FuzzTargets
import SessionToolsBase
import StoreMigration

/// A file that another program is said to have written.
///
/// It is refused with a position, or its items have valid names and values, which are the same when
/// it is read again.
struct ExportTarget: Sendable {
  let parse: @Sendable (SecretBytes, String) throws(StoreError) -> ReadOnlyItems

  func check(_ bytes: [UInt8]) throws {
    let (first, again) = (contents(bytes), contents(bytes))
    switch (first, again) {
    case (.failure(let error), .failure(let other)):
      try require("\(error)" == "\(other)", "\(error), and then \(other)")
      try require(error.store.hasPrefix("file"), "\(error) does not name the file")
      try require(
        [StoreError.undecodable, StoreError.invalidName, StoreError.alreadyExists]
          .contains(error.code), "\(error) has another code")
    case (.success(let items), .success(let others)):
      try require(items == others, "the items differ when they are read again")
      try require(items.count <= bytes.count, "there are more items than bytes")
    default: throw Finding("the file is read only sometimes")
    }
  }

  private func contents(_ bytes: [UInt8]) -> Result<[ItemName: SecretBytes], StoreError> {
    Result { () throws(StoreError) in
      let store = try parse(SecretBytes(bytes), "file")
      var items: [ItemName: SecretBytes] = [:]
      for name in try store.listing().names { items[name] = try store.value(for: name) }
      return items
    }
  }
}
