import SealedStore
import SecretStores

/// A header that is about to replace the stored one.
struct HeaderDraft {
  var stored: StoredHeader
  /// The key that wraps the others, which a revocation replaces.
  var storeKey: KeyBytes
}

extension SealedDatabaseStore {
  /// Replaces the header, unless another machine changed it meanwhile: then it tries again.
  ///
  /// - Parameter change: Changes the header, and returns whether it is to be written. It is called
  ///   once for each attempt.
  /// - Returns: The header as it is now.
  /// - Throws: What the closure throws; `locked`, `wrongKey` when the store's keys were replaced,
  ///   `corrupt` when the header is older than this process has seen it; `unavailable`,
  ///   `accessDenied`, `noSpace`, `timedOut` or `io`, and nothing was changed; `outcomeUnknown`.
  @discardableResult
  func changeHeader(
    _ change: (inout HeaderDraft) throws(StoreError) -> Bool
  ) throws(StoreError) -> StoredHeader {
    let deadline = database.deadline
    var pause = RetryPause()
    while true {
      let stored = try keys.renew(until: deadline)
      let storeKey = try KeyBytes()
      try keys.use { $0.storeKey.copy(to: storeKey) }
      var draft = HeaderDraft(stored: stored, storeKey: storeKey)
      guard try change(&draft) else { return stored }
      draft.stored.header.number += 1
      let row = try draft.stored.header.row(
        leastEpoch: draft.stored.leastEpoch, storeKey: draft.storeKey)
      let opened = try row.header(of: database.name)
        .open(withStoreKey: draft.storeKey, of: database.name)
      if try replace(stored.header.number, by: row, until: deadline) {
        keys.take(opened, of: draft.stored.header)
        return draft.stored
      }
      opened.wipe()
      guard pause.wait(until: deadline) else {
        throw StoreError(
          .timedOut, store: database.name,
          reason: "other changes of the header were in the way until the deadline")
      }
    }
  }

  /// Writes a header in place of the one with a number; returns `false` when that is not there.
  private func replace(
    _ number: Int64, by row: HeaderRow, until deadline: ContinuousClock.Instant
  ) throws(StoreError) -> Bool {
    var parameters = StatementParameters()
    parameters.append(number)
    parameters.append(row.number)
    parameters.append(row.leastEpoch)
    parameters.append(row.bytes)
    let (answer, isUndecided) = try write(
      database.statements.replaceHeader, parameters, until: deadline)
    if answer.rowCount > 0 { return true }
    guard isUndecided else { return false }
    do throws(StoreError) {
      // An attempt that was not answered may have been made.
      let stored = try keys.header(until: deadline)
      guard stored.header.number == row.number, try stored.header == row.header(of: database.name)
      else { throw outcomeUnknown }
      // Only now it is certain to be as durable as one that was answered.
      var parameters = StatementParameters()
      parameters.append(row.number)
      _ = try write(database.statements.confirmHeader, parameters, until: deadline)
      return true
    } catch {
      throw outcomeUnknown
    }
  }

  /// Sends a statement until it is answered; also returns whether an attempt was not answered.
  private func write(
    _ statement: DatabaseStatement, _ parameters: StatementParameters,
    until deadline: ContinuousClock.Instant
  ) throws(StoreError) -> (DatabaseAnswer, Bool) {
    var isUndecided = false
    do throws(StoreError) {
      let answer = try database.repeating(.write, until: deadline) { () throws(DatabaseFailure) in
        do throws(DatabaseFailure) {
          return try database.attempt(statement, parameters, as: .write, until: deadline)
        } catch {
          if case .noAnswer = error { isUndecided = true }
          throw error
        }
      }
      return (answer, isUndecided)
    } catch {
      throw isUndecided ? outcomeUnknown : error
    }
  }

  private var outcomeUnknown: StoreError {
    StoreError(
      .outcomeUnknown, store: database.name,
      reason: "the database did not report whether it changed the header",
      remedy: "List the key slots, and repeat the change if it was not made")
  }
}
