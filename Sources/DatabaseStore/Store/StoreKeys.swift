import Foundation
import SealedStore
import SecretStores
import Synchronization

/// The keys of a store that can be locked, and that take over newer headers.
final class StoreKeys: Sendable {
  let store: StoreIdentifier
  private let database: Database
  private let state: Lock<State>

  private struct State {
    /// `nil` while the store is locked.
    var keys: UsedKeys?
    /// The number of the newest header that was opened, also while the store is locked.
    var number: Int64
    /// Its MAC: after a restore, another header may have the same number.
    var mac: [UInt8]
  }

  init(_ keys: DatabaseKeys, of header: DatabaseHeader, in database: Database) {
    store = header.store
    self.database = database
    state = Lock(
      State(keys: UsedKeys(keys), number: header.number, mac: keys.headerMAC))
  }

  var isLocked: Bool { state.withLock { $0.keys == nil } }

  /// Whether the system keeps the keys out of swap; `false` while locked.
  var isMemoryLocked: Bool { state.withLock { $0.keys?.keys.isMemoryLocked ?? false } }

  /// The number of the newest header that was opened.
  var number: Int64 { state.withLock { $0.number } }

  /// Forgets how new the header was, for a database that was restored on purpose.
  func forgetNumber() { state.withLock { $0.number = 0 } }

  /// Runs a closure with the keys, which are not wiped meanwhile.
  ///
  /// - Throws: `locked`, or what the closure throws.
  func use<Result>(
    _ body: (DatabaseKeys) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let used = state.withLock { state in
      state.keys?.beginUse()
      return state.keys
    }
    guard let used else {
      throw StoreError(
        .locked, store: database.name, reason: "the store is locked",
        remedy: "Unlock it with its key or passphrase")
    }
    defer { used.endUse() }
    return try body(used.keys)
  }

  /// Runs a closure that reads rows and opens them, and once more with the keys of a newer header
  /// if a key is missing.
  ///
  /// The rows are read again, too: with the newer header, they may be sealed with a newer key.
  ///
  /// - Throws: As ``use(_:)`` and ``renew(until:)``.
  func renewing<Result>(
    until deadline: ContinuousClock.Instant, _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    do throws(StoreError) {
      return try body()
    } catch let error where error.code == .keyMissing {
      try renew(until: deadline)
      return try body()
    }
  }

  /// Reads the header again, and takes its keys over if it is newer.
  ///
  /// - Throws: `corrupt` when the header is older than the one that was read before, `wrongKey`
  ///   when the store's keys were replaced, `locked`, or as any read.
  @discardableResult
  func renew(until deadline: ContinuousClock.Instant) throws(StoreError) -> StoredHeader {
    let stored = try header(until: deadline)
    let newer = try use { keys throws(StoreError) in
      try stored.header.open(with: keys, of: database.name)
    }
    take(newer, of: stored.header)
    return stored
  }

  /// Reads the header as it is now, without opening it.
  ///
  /// - Throws: `corrupt` when it is older than one that was opened before, or is another one with
  ///   the same number; or as any read.
  func header(
    on lane: Database.Lane = .shared, until deadline: ContinuousClock.Instant
  ) throws(StoreError) -> StoredHeader {
    let (number, mac) = state.withLock { ($0.number, $0.mac) }
    let stored = try database.header(on: lane, until: deadline)
    let header = stored.header
    guard header.number > number || header.number == number && header.mac == mac else {
      throw isOlder
    }
    return stored
  }

  /// Uses the keys of a header, unless those in use are of a newer one or the store was locked.
  func take(_ keys: DatabaseKeys, of header: DatabaseHeader) {
    let new = UsedKeys(keys)
    let unused = state.withLock { state -> UsedKeys? in
      guard let current = state.keys, header.number > state.number else { return new }
      state = State(keys: new, number: header.number, mac: keys.headerMAC)
      return current
    }
    unused?.wipe()
  }

  private var isOlder: StoreError {
    StoreError(
      .corrupt, store: database.name,
      reason: "the header is older than it was before, or is that of another copy of the store",
      remedy: "Find out whether the database was restored, and who can write to it")
  }

  /// Wipes the keys once they are not in use.
  func lock() {
    state.withLock { $0.keys.take() }?.wipe()
  }

  /// Opens the header as it is now, unless the store is open.
  func unlock(with source: some KeySource) throws(StoreError) {
    guard isLocked else { return }
    let header = try header(until: database.deadline).header
    guard header.store == store else {
      throw StoreError(
        .unavailable, store: database.name, reason: "another store has taken the place of this one",
        remedy: "Open the new store")
    }
    let new = UsedKeys(try header.open(with: source, of: database.name).keys)
    let unused = state.withLock { state -> UsedKeys? in
      // Another thread was faster.
      guard state.keys == nil else { return new }
      state = State(keys: new, number: header.number, mac: new.keys.headerMAC)
      return nil
    }
    unused?.wipe()
  }
}

/// A header as it is in the table, with what is beside it.
struct StoredHeader {
  var header: DatabaseHeader
  /// No row is written with a lower epoch.
  var leastEpoch: Epoch
}

extension Database {
  /// Reads the header.
  ///
  /// - Throws: `unavailable` when it is missing, or as any read.
  func header(
    on lane: Lane = .shared, until deadline: ContinuousClock.Instant
  ) throws(StoreError) -> StoredHeader {
    let answer = try read(statements.header, on: lane, until: deadline)
    guard answer.rowCount == 1, let format = answer.integer(Int32.self, 0, 0),
      let number = answer.integer(Int64.self, 0, 1),
      let leastEpoch = answer.integer(Int32.self, 0, 2), let bytes = answer.bytes(0, 3)
    else {
      throw StoreError(
        .unavailable, store: name, reason: "there is no store: its header is missing",
        remedy: "Put the row of the table header back from a backup")
    }
    let row = HeaderRow(format: format, number: number, leastEpoch: leastEpoch, bytes: bytes)
    let header = try row.header(of: name)
    guard let leastEpoch = Epoch(leastEpoch) else { throw HeaderFailure.forged(name) }
    return StoredHeader(header: header, leastEpoch: leastEpoch)
  }
}

/// Keys, and how many closures use them.
private final class UsedKeys: Sendable {
  let keys: DatabaseKeys
  private let useCount = Atomic(0)

  init(_ keys: DatabaseKeys) {
    self.keys = keys
  }

  /// Registers a use; called only under the lock of the state that has the keys.
  func beginUse() { useCount.wrappingAdd(1, ordering: .acquiring) }

  func endUse() { useCount.wrappingSubtract(1, ordering: .releasing) }

  /// Wipes the keys when the uses that are under way have ended, none of which waits for a server.
  func wipe() {
    while useCount.load(ordering: .acquiring) > 0 { Thread.sleep(forTimeInterval: 0.000_05) }
    keys.wipe()
  }
}
