import SealedStore
import SecretStores

/// Sealing of rows with the newest data key that have an older one.
///
/// A row that is changed meanwhile is left out: its change has the newest key, or the next pass
/// finds it.
struct Resealer {
  private let store: SealedDatabaseStore
  private let epoch: Epoch

  private static let pageCount = 500
  private static let pageByteCount: Int64 = 8 << 20

  /// - Parameters:
  ///   - epoch: The first epoch whose rows stay as they are.
  ///   - store: The store, which has opened a header with this epoch.
  init(before epoch: Epoch, in store: SealedDatabaseStore) {
    self.epoch = epoch
    self.store = store
  }

  private var database: Database { store.database }

  /// Goes through all rows once; returns how many with an older key it has found.
  ///
  /// - Throws: As `rotate`.
  func run(_ progress: SealedDatabaseStore.Progress?) throws(StoreError) -> Int {
    try store.keys.renew(until: database.deadline)
    let total = progress == nil ? 0 : try store.rowCount()
    var (done, olderCount) = (0, 0)
    var last: RowAddress?
    while true {
      let found = try scan(after: last)
      guard let end = found.last?.address else { break }
      let older = found.filter { $0.epoch < epoch }
      for page in Self.pages(of: older) { try reseal(page) }
      olderCount += older.count
      done += found.count
      last = end
      progress?(done, max(done, total))
    }
    // The total may have been an estimate.
    progress?(done, done)
    return olderCount
  }

  /// A row as a scan finds it.
  private struct Found {
    let address: RowAddress
    let epoch: Epoch
    /// The size of what is sealed in it.
    let byteCount: Int64
  }

  private func scan(after last: RowAddress?) throws(StoreError) -> [Found] {
    let last = last ?? .first
    var parameters = StatementParameters(last)
    parameters.append(Int64(DatabaseFormat.pageCount))
    let answer = try database.read(
      database.statements.scan, parameters, until: database.deadline)
    let addresses = try store.addresses(in: answer, after: last)
    return try addresses.enumerated().map { number, address throws(StoreError) in
      guard
        let epoch = answer.integer(Int32.self, number, 3).flatMap({ Epoch($0) }),
        let byteCount = answer.integer(Int64.self, number, 4),
        // No writer makes a row that is larger than a page.
        0...Self.pageByteCount ~= byteCount
      else { throw store.corrupt(nil) }
      return Found(address: address, epoch: epoch, byteCount: byteCount)
    }
  }

  /// Divides rows into pages that one statement may change.
  private static func pages(of rows: [Found]) -> [[RowAddress]] {
    var pages: [[RowAddress]] = []
    var byteCount: Int64 = 0
    for row in rows {
      if pages.isEmpty || pages[pages.count - 1].count == pageCount || byteCount > pageByteCount {
        pages.append([])
        byteCount = 0
      }
      pages[pages.count - 1].append(row.address)
      byteCount += row.byteCount
    }
    return pages
  }

  /// Seals the rows of a page again, with new versions and what else they had.
  private func reseal(_ page: [RowAddress]) throws(StoreError) {
    let deadline = database.deadline
    let (rows, mac) = try store.keys.renewing(until: deadline) { () throws(StoreError) in
      try resealed(page, until: deadline)
    }
    guard let epoch = rows.first?.fields.epoch else { return }
    var parameters = StatementParameters(rows.map(\.fields.address))
    parameters.append(rows.map(\.fields.version))
    parameters.append(rows.map(\.nonce))
    parameters.append(rows.map { $0.name ?? [] })
    parameters.append(rows.map { $0.value ?? [] })
    parameters.append(epoch.number)
    parameters.append(mac)
    // Made twice, it changes nothing the second time. It is as durable as the change of the header
    // that follows it.
    _ = try database.read(database.statements.reseal, parameters, until: deadline)
  }

  /// Returns the rows of a page as they are to be, and the MAC of the header that has their key.
  private func resealed(
    _ page: [RowAddress], until deadline: ContinuousClock.Instant
  ) throws(StoreError) -> (rows: [SealedRow], mac: [UInt8]) {
    let answer = try database.read(
      database.statements.rows, StatementParameters(page), until: deadline)
    var doubtful: [ItemName] = []
    let resealed = try store.keys.use { keys throws(StoreError) in
      let opener = RowOpener(keys: keys, of: database.name)
      var reader = CanonicalNameReader()
      let sealer = RowSealer(
        answer.rowCount, keys: keys, of: database.name, random: store.environment.random)
      var rows: [SealedRow] = []
      for number in 0..<answer.rowCount {
        guard let address = answer.address(number),
          var row = answer.sealedRow(number, from: 3, at: address, .name),
          row.fields.version < .max, let value = answer.bytes(number, 9)
        else { throw store.corrupt(nil) }
        row.value = value
        // It was changed since it was found.
        guard row.fields.epoch < epoch else { continue }
        let item = try opener.item(of: row, by: &reader)
        if store.seemsOlder(row.fields) { doubtful.append(item.name) }
        rows.append(
          try sealer.seal(
            item.value, for: item.name, version: row.fields.version + 1, write: row.fields.write))
      }
      return (rows, keys.headerMAC)
    }
    for name in doubtful { _ = try store.contains(name) }
    return resealed
  }
}
