import SealedStore
import SecretStores

/// One change of some items, from its first attempt until it is decided whether it was made.
struct StoreWriter {
  private let store: SealedDatabaseStore
  private let condition: ItemCondition?
  private let deadline: ContinuousClock.Instant
  /// When the last attempt may begin.
  private let lastStart: ContinuousClock.Instant
  /// The same for all attempts: it shows whether one that was not answered was made.
  private let write: WriteIdentifier
  private var rows: [WrittenRow]
  private var leases: [Lease]
  /// The item that is looked at, if it was read under one of the leases.
  ///
  /// The statement checks whether it still is as it was; if it is not, the item is read again.
  private var readItem: ReadItem?
  /// The server's clock in microseconds since 1970, from the last inspection.
  private var serverTime: Int64?
  /// Whether there was an attempt without an answer, which may have been made or may still be.
  private var isUndecided = false

  private var database: Database { store.database }

  /// Notes what is to be changed: the last of several changes of an item.
  init(
    _ changes: [StoreChange], if condition: ItemCondition?, under leases: [Lease],
    in store: SealedDatabaseStore, until deadline: ContinuousClock.Instant
  ) throws(StoreError) {
    self.store = store
    self.condition = condition
    self.leases = leases
    self.deadline = deadline
    lastStart = store.database.lastStart(until: deadline)
    write = WriteIdentifier(bytes: store.environment.random.bytes16())
    var last: [ItemName: WrittenRow.Change] = [:]
    var order: [ItemName] = []
    if let condition {
      last[condition.name] = .compare
      order.append(condition.name)
    }
    for change in changes {
      if last[change.name] == nil { order.append(change.name) }
      last[change.name] =
        switch change {
        case .put(let value, for: _): .put(value)
        case .remove: .remove
        }
    }
    rows = try store.keys.use { keys in
      order.map { name in
        let address = keys.address(of: name)
        return WrittenRow(
          name: name, address: address, change: last[name] ?? .compare,
          stored: store.versions[address].map { WrittenRow.State($0) })
      }
    }
    if condition != nil {
      let address = rows[0].address
      readItem = leases.lazy.compactMap { $0.lastRead(at: address) }.first
    }
  }

  /// Makes the change, or finds out that it is not made.
  ///
  /// - Throws: `outcomeUnknown` whenever an attempt is left that may have been made.
  mutating func make() throws(StoreError) -> ChangeOutcome {
    do throws(StoreError) {
      return try decide()
    } catch {
      throw isUndecided ? undecided : error
    }
  }

  private var undecided: StoreError {
    DatabaseFailure.noAnswer(.brokenConnection).storeError(.write, store: database.name)
  }

  private mutating func decide() throws(StoreError) -> ChangeOutcome {
    var pause = RetryPause()
    while true {
      if let outcome = try compare() {
        // The attempt may have been made since the last look, and its item replaced.
        guard !isUndecided else { throw undecided }
        return outcome
      }
      // After an attempt that may still be made, the next one must expect the same rows.
      if !isUndecided, !isEnoughKnown {
        let compared = condition == nil ? nil : rows[0].stored
        _ = try inspect()
        // The change depends on the item that was compared, not on one that is there since then.
        if let compared { rows[0].stored = compared }
      }
      guard rows.contains(where: \.isReason) else { return .made }
      let (plan, statement, parameters) = try seal(rows)
      if try send(statement, parameters) {
        note(plan)
        return .made
      }
      if try isMade(plan) { return .made }
      guard pause.wait(until: lastStart) else {
        throw StoreError(
          .timedOut, store: database.name,
          reason: "other changes of the same items were in the way until the deadline")
      }
    }
  }

  /// Whether the rows can be sealed without looking at them: a new one needs the server's clock.
  private var isEnoughKnown: Bool {
    // A change that is sent for the sake of another row checks that there is still nothing to
    // remove in this one.
    let isSent = rows.contains { $0.isReason && $0.isKnown }
    return rows.allSatisfy { $0.isKnown || isSent && $0.isKnownToBeGone }
      && (serverTime != nil || !rows.contains { $0.stored == .absent })
  }

  /// Compares the stored item with the condition; returns the outcome when it does not meet it.
  private mutating func compare() throws(StoreError) -> ChangeOutcome? {
    guard let condition else { return nil }
    if let item = readItem.take(), condition.outcome(whenStored: item.version) == .made {
      rows[0].stored = .present(version: item.rowVersion, isGone: false)
      return nil
    }
    let item = try store.stored(condition.name, until: deadline)
    let outcome = condition.outcome(whenStored: item?.value)
    guard outcome == .made else { return outcome }
    rows[0].stored =
      item.map { .present(version: $0.version, isGone: $0.value == nil) } ?? .absent
    return nil
  }

  // MARK: - Looking

  /// What a look found besides the versions.
  private struct Inspection {
    /// The write identifier in each row.
    let writes: [WriteIdentifier?]
    let leastEpoch: Int32
    let headerMAC: [UInt8]
    let areLeasesHeld: Bool
  }

  /// Looks at the rows as they are now.
  private mutating func inspect() throws(StoreError) -> Inspection {
    var parameters = StatementParameters(rows.map(\.address))
    parameters.append(leases)
    let answer = try database.read(database.statements.inspect, parameters, until: deadline)
    guard answer.rowCount == rows.count,
      let time = answer.integer(Int64.self, 0, 0), 0...WrittenRow.latestTime ~= time,
      let leastEpoch = answer.integer(Int32.self, 0, 1), let areLeasesHeld = answer.bool(0, 2),
      let headerMAC = answer.bytes(0, 6)
    else { throw store.corrupt(nil) }
    serverTime = time
    var writes: [WriteIdentifier?] = []
    for number in rows.indices {
      guard answer.isPresent(number, 3) else {
        rows[number].stored = .absent
        writes.append(nil)
        continue
      }
      guard let version = answer.integer(Int64.self, number, 3), 1..<Int64.max - 1 ~= version,
        let isGone = answer.bool(number, 4),
        let write = answer.bytes16(number, 5)
      else { throw store.corrupt(rows[number].name) }
      rows[number].stored = .present(version: version, isGone: isGone)
      rows[number].wasPutBack = SeenVersions.isOlder(
        version, than: store.versions[rows[number].address])
      writes.append(WriteIdentifier(bytes: write))
    }
    return Inspection(
      writes: writes, leastEpoch: leastEpoch, headerMAC: headerMAC, areLeasesHeld: areLeasesHeld)
  }

  /// Finds out why nothing was written; returns `true` when an earlier attempt had been made.
  private mutating func isMade(_ plan: [SentRow]) throws(StoreError) -> Bool {
    let inspection = try inspect()
    if isUndecided {
      switch traces(of: plan, in: inspection) {
      case .made:
        try confirm(plan)
        note(plan)
        return true
      case .notMade: isUndecided = false
      case .notYet: break
      case .unknown: throw undecided
      }
    }
    if !inspection.areLeasesHeld {
      // Those whose closure is over do not bind the tasks that it has left behind.
      let bound = leases.filter { !$0.isEnded }
      guard bound.count < leases.count else { throw store.exclusionLost }
      leases = bound
    }
    let (written, mac) = try store.keys.use { ($0.written.number, $0.headerMAC) }
    if inspection.leastEpoch > written || inspection.headerMAC != mac {
      try store.keys.renew(until: deadline)
    }
    return false
  }

  private func traces(of plan: [SentRow], in inspection: Inspection) -> Traces {
    let sent = Dictionary(uniqueKeysWithValues: plan.map { ($0.address, $0) })
    let now = rows.indices.compactMap { number in
      sent[rows[number].address].map {
        (sent: $0, now: rows[number].stored ?? .absent, write: inspection.writes[number])
      }
    }
    return Traces(now, of: write)
  }

  private func note(_ plan: [SentRow]) {
    for row in plan where row.isChanged {
      store.versions.noteWritten(row.address, version: row.newVersion, isGone: row.isGone)
    }
  }

  // MARK: - Sealing and sending

  private func seal(
    _ rows: [WrittenRow]
  ) throws(StoreError) -> (
    plan: [SentRow], statement: DatabaseStatement, parameters: StatementParameters
  ) {
    try store.keys.use { keys throws(StoreError) in
      let sealer = RowSealer(
        rows.count(where: \.isChanged), keys: keys, of: database.name,
        random: store.environment.random, write: write)
      var plan: [SentRow] = []
      var sealed: [SealedRow?] = []
      for row in rows {
        let old = row.stored?.version ?? 0
        let new = row.newVersion(at: serverTime ?? 0)
        plan.append(
          SentRow(
            address: row.address, oldVersion: old, newVersion: new, isChanged: row.isChanged,
            isGone: row.value == nil))
        sealed.append(
          row.isChanged ? try sealer.seal(row.value, for: row.name, version: new) : nil)
      }
      // Only a row that is changed is alone.
      if sealed.count == 1, let old = plan.first?.oldVersion, let row = sealed[0] {
        let statement = old == 0 ? database.statements.add : database.statements.replace
        return (plan, statement, parameters(of: row, replacing: old, keys))
      }
      return (plan, database.statements.write, parameters(of: plan, sealed, keys))
    }
  }

  private func parameters(
    of row: SealedRow, replacing old: Int64, _ keys: DatabaseKeys
  ) -> StatementParameters {
    var parameters = StatementParameters()
    parameters.append(leases)
    parameters.append(row.fields.address)
    parameters.append(old)
    parameters.append(row.fields.version)
    parameters.append(row.fields.epoch.number)
    parameters.append(row.fields.isGone)
    parameters.append(write.bytes)
    parameters.append(row.nonce)
    parameters.append(row.name ?? [])
    parameters.append(row.value ?? [])
    parameters.append(keys.headerMAC)
    return parameters
  }

  private func parameters(
    of plan: [SentRow], _ sealed: [SealedRow?], _ keys: DatabaseKeys
  ) -> StatementParameters {
    var parameters = StatementParameters(plan.map(\.address))
    parameters.append(plan.map(\.oldVersion))
    parameters.append(plan.map(\.newVersion))
    parameters.append(plan.map(\.isChanged))
    parameters.append(plan.map(\.isGone))
    parameters.append(sealed.map { $0?.nonce ?? [] })
    parameters.append(sealed.map { $0?.name ?? [] })
    parameters.append(sealed.map { $0?.value ?? [] })
    parameters.append(keys.written.number)
    parameters.append(write.bytes)
    parameters.append(leases)
    parameters.append(Int64(plan.count))
    parameters.append(keys.headerMAC)
    return parameters
  }

  /// Sends the rows until the server answers; returns whether they were written.
  ///
  /// The same bytes are sent each time, so that at most one of the attempts is made: each expects
  /// the versions from before.
  private mutating func send(
    _ statement: DatabaseStatement, _ parameters: StatementParameters
  ) throws(StoreError) -> Bool {
    try database.repeating(
      .write, until: deadline, lastStart: lastStart
    ) { () throws(DatabaseFailure) in
      do throws(DatabaseFailure) {
        let answer = try database.attempt(statement, parameters, as: .write, until: deadline)
        guard answer.rowCount > 0 else { return false }
        isUndecided = false
        return true
      } catch {
        switch error {
        case .server(.divisionByZero): return false
        case .noAnswer: isUndecided = true
        default: break
        }
        throw error
      }
    }
  }

  /// Makes sure that a change that was found in the rows is as durable as one that was answered.
  ///
  /// A server whose wait for its standby was broken off shows a change that only it has. The commit
  /// that this makes comes after it, and is waited for.
  private mutating func confirm(_ plan: [SentRow]) throws(StoreError) {
    guard let row = plan.first(where: \.isChanged) else { return }
    var parameters = StatementParameters(row.address)
    parameters.append(write.bytes)
    _ = try database.repeating(
      .write, until: deadline, lastStart: lastStart
    ) { () throws(DatabaseFailure) in
      try database.attempt(database.statements.confirm, parameters, as: .write, until: deadline)
    }
    isUndecided = false
  }
}
