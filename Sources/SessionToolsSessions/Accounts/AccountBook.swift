import SecretStores
/// The accounts in a namespace of a store, and which of them is the current one.
///
/// There is no list apart from the items: an account exists when it has an item, or the record that
/// the server rejected one.
struct AccountBook: Sendable {
  let store: any SecretStore
  let namespace: StoreNamespace
  /// The identifier under which each account's user is stored.
  let userIdentifier: String

  /// The name under which the current account's name is stored.
  private var currentKey: ItemName {
    get throws(StoreError) { try ItemName("current-account", in: namespace) }
  }

  func accounts() throws(StoreError) -> [AccountIdentifier] {
    Set(try store.names(in: namespace).compactMap { AccountItemName($0)?.account }).sorted()
  }

  func current() throws(StoreError) -> AccountIdentifier? {
    guard let value = try store.value(for: try currentKey) else { return nil }
    guard let text = value.copyText(),
      let account = try? AccountIdentifier(text)
    else {
      throw StoreError(
        .corrupt, store: "\(try currentKey)",
        reason: "the stored account identifier is not valid",
        remedy: "Make an account the current one again")
    }
    // Another process may just have removed it.
    return try isThere(account) ? account : nil
  }

  /// Returns whether an account exists.
  func isThere(_ account: AccountIdentifier) throws(StoreError) -> Bool {
    // Usually it has a user, or had one: listing all names for each account would take quadratic
    // time.
    let user = try userName(of: account)
    if try store.contains(user) { return true }
    if let record = AccountItemName.rejection(of: user), try store.contains(record) { return true }
    return try accounts().contains(account)
  }

  func makeCurrent(_ account: AccountIdentifier) throws(StoreError) {
    try store.put(SecretBytes(utf8: account.text), for: try currentKey)
  }

  /// Clears the current account, if it is this one.
  func forget(_ account: AccountIdentifier) throws(StoreError) {
    let name = try currentKey
    guard let value = try store.value(for: name), value == SecretBytes(utf8: account.text) else {
      return
    }
    try store.remove(name)
  }

  private func userName(of account: AccountIdentifier) throws(StoreError) -> ItemName {
    try AccountItemName.item(userIdentifier, of: account, in: namespace)
  }

  /// Returns the names of all of an account's items and records.
  func names(of account: AccountIdentifier) throws(StoreError) -> [ItemName] {
    try store.names(in: namespace).filter { AccountItemName($0)?.account == account }
  }

  /// Returns whether an account, or the current account, may have changed.
  func isAbout(_ event: StoreEvent) -> Bool {
    guard case .changed(let names) = event else { return true }
    let currentKey = try? currentKey
    return names.contains { name in
      name.namespace == namespace && (name == currentKey || AccountItemName(name) != nil)
    }
  }
}
