import DatabaseStore
import SealedStore
import SessionToolsBase
import Testing

/// A store as a server would keep it, without a server.
struct SealedDatabase {
  static let name = "database of the tests"

  let key: RawKey
  var header: HeaderRow
  var keys: DatabaseKeys
  var rows: [SealedRow] = []

  init(key: RawKey? = nil) throws {
    self.key = try key ?? RawKey(RawKey.random(), label: "first")
    (header, keys) = try DatabaseHeader.make(
      for: self.key.makeSlot(), random: SystemRandomSource())
  }

  /// Adds an epoch, with which the next rows are sealed.
  mutating func rotate() throws {
    var changed = try header.header(of: Self.name)
    try changed.addEpoch(storeKey: keys.storeKey, of: Self.name, random: SystemRandomSource())
    changed.number += 1
    header = changed.row(leastEpoch: .first, keys: keys)
    keys = try header.header(of: Self.name).open(with: keys, of: Self.name)
  }

  var opener: RowOpener { RowOpener(keys: keys, of: Self.name) }

  func sealer(_ count: Int = 1) -> RowSealer {
    RowSealer(count, keys: keys, of: Self.name, random: SystemRandomSource())
  }

  /// Seals a row as a change of its own.
  func row(_ value: String?, for name: ItemName, version: Int64 = 1) throws -> SealedRow {
    try sealer().seal(value.map { SecretBytes(utf8: $0) }, for: name, version: version)
  }

  /// Opens the header again with the raw key.
  func reopened() throws -> DatabaseKeys {
    try header.header(of: Self.name).open(with: key, of: Self.name).keys
  }
}

extension RowOpener {
  /// Opens the value as text; `nil` when the row is a removal.
  func text(of row: SealedRow, for name: ItemName) throws(StoreError) -> String? {
    try value(of: row, for: name).map { String(decoding: $0.copyBytes(), as: UTF8.self) }
  }

  /// Opens the name.
  func name(of row: SealedRow) throws(StoreError) -> ItemName {
    var reader = CanonicalNameReader()
    return try name(of: row, by: &reader)
  }
}

/// Returns the code of the error that a closure throws; `nil` when it throws none.
func code(_ body: () throws -> Void) throws -> StoreError.Code? {
  do {
    try body()
    return nil
  } catch let error as StoreError {
    return error.code
  }
}

func name(
  _ identifier: String, service: String = "svc", group: String? = nil, install: String? = nil
) throws -> ItemName {
  try ItemName(
    identifier,
    in: StoreNamespace(
      service: service, accessGroup: group, install: install.map(InstallIdentifier.init(rawValue:)))
  )
}
