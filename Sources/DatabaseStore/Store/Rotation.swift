package import SealedStore
public import SecretStores
import Synchronization

extension SealedDatabaseStore {
  /// A closure that receives the progress of a long operation: what is done and the total, in
  /// items.
  ///
  /// It is called about every 700 items, on the thread that does the work.
  public typealias Progress = @Sendable (_ done: Int, _ total: Int) -> Void

  /// Seals everything again with a new random data key.
  ///
  /// All slots still open the store. Other machines read and change items meanwhile. When it was
  /// interrupted, the next call goes on, also one by another process; until then, items are read
  /// with both keys. Two calls at the same time finish one rotation together.
  ///
  /// Blocks for as long as everything takes, about a second for 5,000 small items. Each step takes
  /// at most ``Options/operationTimeout``.
  ///
  /// - Parameter progress: Receives the progress of sealing everything again.
  /// - Throws: `locked`; `wrongKey` when the store's keys were replaced; `corrupt` when an item or
  ///   the header was changed by someone without the keys, or is older than this process has seen
  ///   it; `timedOut`, also while another program's transaction keeps the old key in use;
  ///   `unavailable`, `accessDenied`, `noSpace`, `io` or `outcomeUnknown`. Call it again then.
  public func rotate(progress: Progress? = nil) throws(StoreError) {
    let stored = try changeHeader { draft throws(StoreError) in
      guard draft.stored.header.epochs.count == 1 else { return false }
      try draft.stored.header.addEpoch(
        storeKey: draft.storeKey, of: database.name, random: environment.random)
      return true
    }
    try finishRotation(to: stored.header.written, progress)
  }

  /// Whether items are sealed with older data keys, because a rotation is under way or was
  /// interrupted.
  ///
  /// - Throws: As ``keySlots()``.
  package func isRotationPending() throws(StoreError) -> Bool {
    try keys.header(until: database.deadline).header.epochs.count > 1
  }

  package func slotsToRevoke() throws(StoreError) -> SlotList {
    try keys.renew(until: database.deadline).header.slotList(of: name)
  }

  package func revoke(
    keeping given: GivenKeys, progress: Progress?, confirm: (RevocationPlan) -> Bool
  ) throws(StoreError) -> Revocation {
    var outcome = Revocation.notConfirmed
    let stored = try changeHeader { draft throws(StoreError) in
      var slots = draft.stored.header.slotList(of: name)
      outcome = try slots.revoke(keeping: given, random: random, confirm: confirm)
      guard case .revoked(let storeKey) = outcome else { return false }
      draft.stored.header.slots = slots.records
      try draft.stored.header.replaceStoreKey(
        draft.storeKey, by: storeKey, of: name, random: random)
      draft.storeKey = storeKey
      try draft.stored.header.addEpoch(storeKey: storeKey, of: name, random: random)
      return true
    }
    guard case .revoked = outcome else { return outcome }
    listedSlots.withLock { $0 = stored.header.slots }
    try finishRotation(to: stored.header.written, progress)
    return outcome
  }

  // MARK: - Sealing again

  /// Does what is left of a rotation; each of its steps may have been done before.
  private func finishRotation(
    to epoch: Epoch, _ progress: Progress?
  ) throws(StoreError) {
    let resealer = Resealer(before: epoch, in: self)
    _ = try resealer.run(progress)
    try changeHeader { draft in
      guard draft.stored.leastEpoch < epoch else { return false }
      draft.stored.leastEpoch = epoch
      return true
    }
    // From here on no change with an older key begins; those that have begun end first.
    try waitForChanges()
    // The first of these passes leaves nothing behind. The last one makes sure of it: without its
    // key a row would be lost.
    var passes = 0
    while try resealer.run(nil) > 0 {
      passes += 1
      guard passes < 3 else { throw notSealedAgain }
    }
    try changeHeader { draft throws(StoreError) in
      guard draft.stored.header.epochs[0].epoch < epoch else { return false }
      // Only someone without the keys allows an older one again: the MAC does not cover this.
      guard draft.stored.leastEpoch >= epoch else { throw HeaderFailure.forged(database.name) }
      draft.stored.header.dropEpochs(before: epoch)
      return true
    }
  }

  private var notSealedAgain: StoreError {
    StoreError(
      .io, store: database.name,
      reason: "the server did not replace rows that are sealed with an older data key",
      remedy: "Find out what changes the rows of the table item on the server, and rotate again")
  }

  /// Waits until all changes of items that are under way have ended.
  ///
  /// A statement locks the table before it looks at the header, and has no transaction number until
  /// it writes: so it is the locks that are waited for, which keeps no one else waiting.
  private func waitForChanges() throws(StoreError) {
    let deadline = database.deadline
    var pause = RetryPause()
    var waitedFor = try changesUnderWay(until: deadline)
    while !waitedFor.isEmpty {
      guard pause.wait(until: deadline) else {
        throw StoreError(
          .timedOut, store: database.name,
          reason: "a transaction that changes items has not ended",
          remedy: "Find it among the locks on the table item in pg_locks, end it, and rotate again",
          isTransient: false)
      }
      waitedFor.formIntersection(try changesUnderWay(until: deadline))
    }
  }

  private func changesUnderWay(
    until deadline: ContinuousClock.Instant
  ) throws(StoreError) -> Set<String> {
    let answer = try database.read(database.statements.changesUnderWay, until: deadline)
    return Set((0..<answer.rowCount).compactMap { answer.text($0, 0) })
  }
}
