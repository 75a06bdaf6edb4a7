import Foundation
import SecretStores

/// All accounts of a namespace with their states, as they were at one time.
struct AccountList {
  let states: [AccountState]
  private let names: Set<ItemName>
  private let book: AccountBook

  /// The most names of an event that are looked up one by one.
  private static let maximumLookUpCount = 16

  /// How often the accounts are listed again because a record has gone meanwhile.
  private static let maximumTryCount = 3

  /// Lists the accounts, and reads why some were rejected; blocks.
  init(_ book: AccountBook) throws(StoreError) {
    var tryCount = 0
    while true {
      tryCount += 1
      let names = try book.store.names(in: book.namespace)
      let isLast = tryCount == Self.maximumTryCount
      guard let states = try Self.states(of: names, in: book, isLast) else { continue }
      (self.book, self.states, self.names) = (book, states, Set(names))
      return
    }
  }

  private struct Found {
    var hasUser = false
    var record: ItemName?
  }

  /// Returns the states of the accounts that have some names; `nil` when a record is no longer
  /// there, because its user has signed in since the names were listed, except the last time.
  private static func states(
    of names: [ItemName], in book: AccountBook, _ isLast: Bool
  ) throws(StoreError) -> [AccountState]? {
    var accounts: [AccountIdentifier: Found] = [:]
    for name in names {
      guard let part = AccountItemName(name) else { continue }
      var found = accounts[part.account] ?? Found()
      if part.isOf(book.userIdentifier) {
        if part.isRejection { found.record = name } else { found.hasUser = true }
      }
      accounts[part.account] = found
    }
    // Beside a user there is a record only if the store could not remove it.
    let records = try rejections(
      accounts.values.compactMap { $0.hasUser ? nil : $0.record }, in: book.store.innermost)
    var states: [AccountState] = []
    for account in accounts.keys.sorted() {
      guard let found = accounts[account] else { continue }
      let status: AccountState.Status
      if found.hasUser {
        status = .signedIn
      } else if let name = found.record {
        if records[name] == nil && !isLast { return nil }
        status = records[name].map { .rejected($0) } ?? .signedOut
      } else {
        status = .signedOut
      }
      states.append(AccountState(account: account, status: status))
    }
    return states
  }

  /// Reads records below all gates, as a session does.
  private static func rejections(
    _ names: [ItemName], in store: any SecretStore
  ) throws(StoreError) -> [ItemName: RecordedRejection] {
    var records: [ItemName: RecordedRejection] = [:]
    var rest = names[...]
    while !rest.isEmpty {
      let values = try values(ofFirst: rest, in: store)
      for (name, value) in zip(rest, values) {
        records[name] = try record(name, value, in: store)
      }
      rest = rest.dropFirst(values.count)
    }
    return records
  }

  /// Reads the values of the first of some names; `nil` for one that must be read by itself.
  private static func values(
    ofFirst names: ArraySlice<ItemName>, in store: any SecretStore
  ) throws(StoreError) -> [SecretBytes?] {
    do throws(StoreError) {
      let values = try (store as? any MigratableStore)?.values(ofFirst: names) ?? []
      return values.isEmpty ? [nil] : values
    } catch let error where error.code == .corrupt {
      return [nil]
    }
  }

  /// Returns a record; `nil` when it is absent.
  ///
  /// One that cannot be read costs its account's reason, and not the list.
  private static func record(
    _ name: ItemName, _ value: SecretBytes?, in store: any SecretStore
  ) throws(StoreError) -> RecordedRejection? {
    do throws(StoreError) {
      let bytes: SecretBytes? = if let value { value } else { try store.value(for: name) }
      guard let bytes else { return nil }
      return try RecordedRejection(from: bytes, for: name)
    } catch let error where error.code == .corrupt || error.code == .undecodable {
      return RecordedRejection(error, at: .distantPast)
    }
  }

  /// Returns whether the states may be others after an event; blocks.
  ///
  /// A refresh stores an item where one was. Listing ten thousand accounts for each of theirs would
  /// take quadratic time.
  func mayDiffer(after event: StoreEvent) throws(StoreError) -> Bool {
    guard case .changed(let changed) = event else { return true }
    let parts = changed.filter { $0.namespace == book.namespace && AccountItemName($0) != nil }
    guard parts.count <= Self.maximumLookUpCount else { return true }
    for name in parts {
      let isThere = try book.store.contains(name)
      if isThere != names.contains(name) { return true }
      // The record may be another one.
      if isThere, AccountItemName(name)?.isRejection == true { return true }
    }
    return false
  }
}
