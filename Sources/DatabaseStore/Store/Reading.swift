import SealedStore
public import SecretStores

extension SealedDatabaseStore {
  /// Reads one value; `nil` when there is no such item.
  ///
  /// Blocks for one round trip.
  ///
  /// - Throws: `locked`; `unavailable` when there is no connection, `accessDenied`, `timedOut`;
  ///   `corrupt` when the row was changed by someone without the keys, or is older than this
  ///   process has seen it; `keyMissing`, `wrongKey` when the store's keys were replaced, or `io`.
  public func value(for name: ItemName) throws(StoreError) -> SecretBytes? {
    try value(for: name, under: Lease.held(in: self).last, until: database.deadline)
  }

  /// Reads one value like the blocking method, on one of a few threads outside of the pool of
  /// tasks.
  ///
  /// - Throws: As the blocking method.
  public func asyncValue(for name: ItemName) async throws(StoreError) -> SecretBytes? {
    // The wait for a thread counts.
    let (lease, deadline) = (Lease.held(in: self).last, database.deadline)
    return try await readThreads.blocking { () throws(StoreError) in
      try self.value(for: name, under: lease, until: deadline)
    }
  }

  private func value(
    for name: ItemName, under lease: Lease?, until deadline: ContinuousClock.Instant
  ) throws(StoreError) -> SecretBytes? {
    let item = try stored(name, until: deadline)
    if let lease { item?.note(under: lease) }
    return item?.value
  }

  /// Returns whether there is an item, without reading its value.
  ///
  /// Blocks for one round trip.
  ///
  /// - Throws: As ``value(for:)``.
  public func contains(_ name: ItemName) throws(StoreError) -> Bool {
    try contains(name, until: database.deadline)
  }

  /// Returns whether there is an item like the blocking method, on one of a few threads outside of
  /// the pool of tasks.
  ///
  /// - Throws: As the blocking method.
  public func asyncContains(_ name: ItemName) async throws(StoreError) -> Bool {
    let deadline = database.deadline
    return try await readThreads.blocking { () throws(StoreError) in
      try self.contains(name, until: deadline)
    }
  }

  /// Returns the names like the blocking method, on one of a few threads outside of the pool of
  /// tasks.
  ///
  /// - Throws: As the blocking method.
  public func asyncNames(in namespace: StoreNamespace?) async throws(StoreError) -> [ItemName] {
    let deadline = database.deadline
    return try await readThreads.blocking { () throws(StoreError) in
      // Each page has its own time, once there is a thread in time.
      guard ContinuousClock.now < deadline else {
        throw DatabaseFailure.timedOut.storeError(.read, store: self.database.name)
      }
      return try self.names(in: namespace)
    }
  }

  private func contains(
    _ name: ItemName, until deadline: ContinuousClock.Instant
  ) throws(StoreError) -> Bool {
    try keys.renewing(until: deadline) { () throws(StoreError) in
      guard let row = try row(of: name, .name, until: deadline) else { return false }
      // The name is opened, because both sealings bind whether the item is gone.
      let found = try keys.use { keys throws(StoreError) in
        var reader = CanonicalNameReader()
        return try RowOpener(keys: keys, of: database.name).name(of: row, by: &reader)
      }
      guard found == name else { throw corrupt(name) }
      note(row)
      return !row.fields.isGone
    }
  }

  /// Forgets which versions of items, and of the header, this process has seen.
  ///
  /// For a database that was restored from a backup on purpose. Otherwise items that are older than
  /// they were before are reported as `corrupt` until they are put again, and so is a header that
  /// is older, always.
  public func forgetSeenVersions() {
    versions.forget()
    keys.forgetNumber()
  }

  /// An item as it was read.
  struct StoredItem {
    let address: RowAddress
    let version: Int64
    /// `nil` when the item is gone.
    let value: SecretBytes?

    /// Notes that it was read in a closure with exclusive access.
    func note(under lease: Lease) {
      guard let value else { return }
      lease.note(ReadItem(address: address, rowVersion: version, version: ItemVersion(value)))
    }
  }

  /// Reads an item or its removal.
  func stored(
    _ name: ItemName, until deadline: ContinuousClock.Instant
  ) throws(StoreError) -> StoredItem? {
    try keys.renewing(until: deadline) { () throws(StoreError) in
      guard let row = try row(of: name, .value, until: deadline) else { return nil }
      return try opened(row, of: name)
    }
  }

  /// Opens the row of an item or its removal, and notes its version.
  func opened(_ row: SealedRow, of name: ItemName) throws(StoreError) -> StoredItem {
    let value = try keys.use { keys throws(StoreError) in
      try RowOpener(keys: keys, of: database.name).value(of: row, addressedBy: name)
    }
    note(row)
    return StoredItem(address: row.fields.address, version: row.fields.version, value: value)
  }

  /// Reads the row of an item.
  private func row(
    of name: ItemName, _ part: DatabaseAnswer.Part, until deadline: ContinuousClock.Instant
  ) throws(StoreError) -> SealedRow? {
    let address = try keys.use { $0.address(of: name) }
    let known = versions[address]
    let statement =
      switch part {
      case .name: database.statements.name
      case .value: database.statements.value
      }
    let answer = try database.read(statement, StatementParameters(address), until: deadline)
    guard answer.rowCount > 0 else {
      guard !SeenVersions.isOlder(nil, than: known) else { throw older(name) }
      return nil
    }
    return try row(of: name, part, in: answer, at: address, since: known)
  }

  /// Returns the row of an item that is in an answer.
  ///
  /// - Parameters:
  ///   - name: The item.
  ///   - part: What the last column is.
  ///   - answer: The answer, whose first row it is.
  ///   - first: Its first column.
  ///   - address: The item's address.
  ///   - known: What was known about the row before it was asked for.
  /// - Returns: The row, not opened.
  /// - Throws: `corrupt`.
  func row(
    of name: ItemName, _ part: DatabaseAnswer.Part, in answer: DatabaseAnswer, from first: Int = 0,
    at address: RowAddress, since known: SeenVersions.Seen?
  ) throws(StoreError) -> SealedRow {
    guard let row = answer.sealedRow(0, from: first, at: address, part) else { throw corrupt(name) }
    guard !SeenVersions.isOlder(row.fields.version, than: known) else { throw older(name) }
    return row
  }

  /// Notes a row that has been opened, so that its version is known to be true.
  func note(_ row: SealedRow) {
    let fields = row.fields
    versions.note(fields.address, version: fields.version, isGone: fields.isGone)
  }

  /// Whether a row seems to be older than this process has seen it.
  ///
  /// Another thread may have read or written it after the row was read: ``contains(_:)`` reads it
  /// again, and throws an error if it is really older.
  func seemsOlder(_ fields: RowFields) -> Bool {
    SeenVersions.isOlder(fields.version, than: versions[fields.address])
  }

  func corrupt(_ name: ItemName?) -> StoreError {
    RowOpener.corrupt(name, in: database.name)
  }

  func older(_ name: ItemName) -> StoreError {
    StoreError(
      .corrupt, store: database.name,
      reason: "\(name) is older than this process has seen it: a failover without a synchronous "
        + "standby, a restore, or tampering",
      remedy: "Put it again, or call forgetSeenVersions() if the restore is intended")
  }
}
