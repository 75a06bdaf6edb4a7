/// Which accounts there are in a namespace of a store, and which of them is the current one.
///
/// There is no list beside the items: an account is there when it has one.
struct AccountBook: Sendable {
  let store: any SecretStore
  let namespace: Namespace
  /// The name of each account's user among its items.
  let userIdentifier: String

  /// Where the current account's name is kept.
  private var currentKey: StoreKey {
    get throws(StoreError) { try StoreKey("current-account", in: namespace) }
  }

  func accounts() throws(StoreError) -> [AccountIdentifier] {
    Set(try store.keys(in: namespace).compactMap(AccountIdentifier.init(owning:))).sorted()
  }

  func current() throws(StoreError) -> AccountIdentifier? {
    guard let value = try store.value(for: try currentKey) else { return nil }
    guard let text = String(validating: value.copyBytes(), as: UTF8.self),
      let account = try? AccountIdentifier(text)
    else {
      throw StoreError(
        StoreError.corrupt, store: "\(try currentKey)",
        reason: "what is stored is no account identifier",
        remedy: "Make an account the current one again")
    }
    // Another process may have removed it just now.
    return try isThere(account) ? account : nil
  }

  /// Whether an account has items.
  func isThere(_ account: AccountIdentifier) throws(StoreError) -> Bool {
    // Mostly it has a user: to list all names for each account would take time by the square of them.
    if try store.contains(try account.key(userIdentifier, in: namespace)) { return true }
    return try accounts().contains(account)
  }

  func makeCurrent(_ account: AccountIdentifier) throws(StoreError) {
    try store.put(SecretBytes(utf8: account.text), for: try currentKey)
  }

  /// Forgets which account was the current one, if it was this.
  func forget(_ account: AccountIdentifier) throws(StoreError) {
    let key = try currentKey
    guard let value = try store.value(for: key), value == SecretBytes(utf8: account.text) else {
      return
    }
    try store.remove(key)
  }

  /// The identifiers' keys of all of an account's items.
  func keys(of account: AccountIdentifier) throws(StoreError) -> [StoreKey] {
    try store.keys(in: namespace).filter { AccountIdentifier(owning: $0) == account }
  }

  /// Whether something of the account, or which is the current one, may have changed.
  func isAbout(_ event: StoreEvent) -> Bool {
    guard case .changed(let keys) = event else { return true }
    let currentKey = try? currentKey
    return keys.contains { key in
      key.namespace == namespace && (key == currentKey || AccountIdentifier(owning: key) != nil)
    }
  }
}
