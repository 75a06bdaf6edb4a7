import SealedStore
import SecretStores

/// The rows of a store, or of one namespace, page by page, with their names opened.
///
/// The rows of removed items are read too, even when they are not returned: a server that chose
/// among the rows by a column that no one has opened could hide items by changing that column.
struct RowPages {
  /// A row with its name.
  struct Row {
    let fields: RowFields
    /// The name, or why it is not known.
    var opened: Result<ItemName, StoreError>

    /// Whether a writer has removed the item: the sealing of the name binds it.
    fileprivate var isRemoval: Bool {
      if case .success = opened { fields.isGone } else { false }
    }
  }

  private let store: SealedDatabaseStore
  private let first: NamespaceHash
  private let last: NamespaceHash
  private let withRemovals: Bool
  private var reader = CanonicalNameReader()
  /// The end of the page before; `nil` after the last page.
  private var end: RowAddress?
  /// The number of rows, since the last one that opens, that do not.
  private var unopenedCount = 0

  /// More rows than these that do not open, one after the other, end a list: a server could invent
  /// them without an end.
  private static let maximumUnopenedCount = 100_000

  /// - Parameters:
  ///   - namespace: The namespace, whose hash another one may have by chance; `nil` for all rows.
  ///   - store: The store.
  ///   - withRemovals: Whether the rows of removed items are returned, too.
  /// - Throws: `locked`.
  init(
    in namespace: StoreNamespace?, of store: SealedDatabaseStore, withRemovals: Bool = false
  ) throws(StoreError) {
    self.store = store
    self.withRemovals = withRemovals
    if let namespace {
      first = try store.keys.use { keys in keys.hash(of: namespace) }
      last = first
    } else {
      first = RowAddress.first.namespace
      last = NamespaceHash(bytes: Bytes16(low: .max, high: .max))
    }
    end = RowAddress(namespace: first, shard: RowAddress.first.shard, tag: RowAddress.first.tag)
  }

  /// Reads the next page; `nil` behind the last one.
  ///
  /// - Throws: As a list; `corrupt` for a row that cannot even be told from others, and for rows
  ///   that are not those after the page before.
  mutating func next() throws(StoreError) -> [Row]? {
    guard let end else { return nil }
    let deadline = store.database.deadline
    var page = try read(after: end, until: deadline)
    let isKeyMissing = page.contains { row in
      if case .failure(let error) = row.opened { error.code == .keyMissing } else { false }
    }
    if isKeyMissing {
      try store.keys.renew(until: deadline)
      page = try read(after: end, until: deadline)
    }
    for (number, row) in page.enumerated() where store.seemsOlder(row.fields) {
      page[number].opened = confirmed(row.opened)
    }
    self.end = page.count == DatabaseFormat.pageCount ? page.last?.fields.address : nil
    for row in page {
      if case .success = row.opened { unopenedCount = 0 } else { unopenedCount += 1 }
    }
    guard unopenedCount <= Self.maximumUnopenedCount else { throw store.corrupt(nil) }
    return withRemovals ? page : page.filter { !$0.isRemoval }
  }

  private mutating func read(
    after end: RowAddress, until deadline: ContinuousClock.Instant
  ) throws(StoreError) -> [Row] {
    let database = store.database
    var parameters = StatementParameters()
    parameters.append(first.bytes)
    parameters.append(last.bytes)
    parameters.append(end)
    parameters.append(Int64(DatabaseFormat.pageCount))
    let answer = try database.read(database.statements.page, parameters, until: deadline)
    let addresses = try store.addresses(in: answer, after: end)
    guard addresses.allSatisfy({ first <= $0.namespace && $0.namespace <= last }) else {
      throw store.corrupt(nil)
    }
    return try store.keys.use { keys throws(StoreError) in
      let opener = RowOpener(keys: keys, of: database.name)
      var rows: [Row] = []
      for (number, address) in addresses.enumerated() {
        guard let row = answer.sealedRow(number, from: 3, at: address, .name) else {
          throw store.corrupt(nil)
        }
        rows.append(Row(fields: row.fields, opened: open(row, opener)))
      }
      return rows
    }
  }

  private mutating func open(
    _ row: SealedRow, _ opener: RowOpener
  ) -> Result<ItemName, StoreError> {
    do throws(StoreError) {
      return .success(try opener.name(of: row, by: &reader))
    } catch {
      return .failure(error)
    }
  }

  /// Returns the name of a row that is not really older than it was.
  private func confirmed(
    _ opened: Result<ItemName, StoreError>
  ) -> Result<ItemName, StoreError> {
    do throws(StoreError) {
      _ = try store.contains(try opened.get())
      return opened
    } catch {
      return .failure(error)
    }
  }
}

extension SealedDatabaseStore {
  /// Returns the addresses of the rows of a page.
  ///
  /// - Throws: `corrupt` when there are more than a page has, or they do not ascend from the end of
  ///   the page before: a server that repeats rows would otherwise be read without an end.
  func addresses(
    in answer: DatabaseAnswer, after end: RowAddress
  ) throws(StoreError) -> [RowAddress] {
    guard answer.rowCount <= DatabaseFormat.pageCount else { throw corrupt(nil) }
    var last = end
    return try (0..<answer.rowCount).map { number throws(StoreError) in
      guard let address = answer.address(number), last < address else { throw corrupt(nil) }
      last = address
      return address
    }
  }

  /// Counts the rows for a progress, with those of removed items; about 0.1 s for a million.
  ///
  /// More than ten million are an estimate. When even that takes too long, the number is 0: what
  /// the progress is of does not fail for it.
  func rowCount() throws(StoreError) -> Int {
    let answer: DatabaseAnswer
    do throws(StoreError) {
      answer = try database.read(database.statements.count, until: database.deadline)
    } catch let error where error.code == .timedOut {
      return 0
    }
    guard let count = answer.integer(Int64.self, 0, 0), count >= 0 else { throw corrupt(nil) }
    return Int(count)
  }
}
