import Foundation
import SealedStore
import SessionToolsBase
import Synchronization

/// The keys of a store that can be locked, and that take over newer headers.
final class StoreKeys: Sendable {
  let store: StoreIdentifier
  private let database: Database
  /// `nil` while the store is locked.
  private let state: Mutex<Open?>

  private struct Open {
    let keys: UsedKeys
    /// The number of the header that they are from.
    let number: Int64
  }

  init(_ keys: DatabaseKeys, of header: DatabaseHeader, in database: Database) {
    store = header.store
    self.database = database
    state = Mutex(Open(keys: UsedKeys(keys), number: header.number))
  }

  var isLocked: Bool { state.withLock { $0 == nil } }

  /// Whether the system keeps the keys out of swap; `false` while locked.
  var isMemoryLocked: Bool { state.withLock { $0?.keys.keys.isMemoryLocked ?? false } }

  /// Runs a closure with the keys, which are not wiped meanwhile.
  ///
  /// - Throws: `locked`, or what the closure throws.
  func use<Result>(
    _ body: (DatabaseKeys) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let used = state.withLock { open in
      open?.keys.beginUse()
      return open?.keys
    }
    guard let used else {
      throw StoreError(
        .locked, store: database.name, reason: "the store is locked",
        remedy: "Unlock it with its key or passphrase")
    }
    defer { used.endUse() }
    return try body(used.keys)
  }

  /// Runs a closure with the keys, and once more with those of a newer header if a key is missing.
  ///
  /// - Throws: As ``use(_:)`` and ``renew(until:)``.
  func useNewest<Result>(
    until deadline: ContinuousClock.Instant, _ body: (DatabaseKeys) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    do throws(StoreError) {
      return try use(body)
    } catch let error where error.code == .keyMissing {
      try renew(until: deadline)
      return try use(body)
    }
  }

  /// Reads the header again, and takes its keys over if it is newer.
  ///
  /// - Throws: `corrupt` when the header is older than the one that was read before, `wrongKey`
  ///   when the store's keys were replaced, `locked`, or as any read.
  func renew(until deadline: ContinuousClock.Instant) throws(StoreError) {
    let header = try database.header(until: deadline)
    let newer = try use { keys throws(StoreError) in
      try header.open(with: keys, of: database.name)
    }
    guard take(newer, of: header, ifOpen: true) else {
      throw StoreError(
        .corrupt, store: database.name, reason: "the header is older than it was before",
        remedy: "Find out whether the database was restored, and who can write to it")
    }
  }

  /// Uses the keys of a header unless those in use are of a newer one; then returns `false`.
  private func take(_ keys: DatabaseKeys, of header: DatabaseHeader, ifOpen: Bool) -> Bool {
    let (unused, isOlder) = state.withLock { open -> (UsedKeys?, Bool) in
      let new = Open(keys: UsedKeys(keys), number: header.number)
      guard let current = open else {
        // Locked meanwhile.
        if ifOpen { return (new.keys, false) }
        open = new
        return (nil, false)
      }
      guard header.number > current.number else {
        return (new.keys, header.number < current.number)
      }
      open = new
      return (current.keys, false)
    }
    unused?.wipe()
    return !isOlder
  }

  /// Wipes the keys once they are not in use.
  func lock() {
    state.withLock { $0.take() }?.keys.wipe()
  }

  /// Opens the header as it is now, unless the store is open.
  func unlock(with source: some KeySource) throws(StoreError) {
    guard isLocked else { return }
    let header = try database.header(until: database.deadline)
    guard header.store == store else {
      throw StoreError(
        .unavailable, store: database.name, reason: "another store has taken the place of this one",
        remedy: "Open the new store")
    }
    let keys = try header.open(with: source, of: database.name).keys
    _ = take(keys, of: header, ifOpen: false)
  }
}

extension Database {
  /// Reads the header.
  ///
  /// - Throws: `unavailable` when it is missing, or as any read.
  func header(until deadline: ContinuousClock.Instant) throws(StoreError) -> DatabaseHeader {
    let answer = try read(statements.header, until: deadline)
    guard answer.rowCount == 1, let format = answer.integer(Int32.self, 0, 0),
      let number = answer.integer(Int64.self, 0, 1),
      let leastEpoch = answer.integer(Int32.self, 0, 2), let bytes = answer.bytes(0, 3)
    else {
      throw StoreError(
        .unavailable, store: name, reason: "there is no store: its header is missing",
        remedy: "Put the row of the table header back from a backup")
    }
    return try HeaderRow(format: format, number: number, leastEpoch: leastEpoch, bytes: bytes)
      .header(of: name)
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
