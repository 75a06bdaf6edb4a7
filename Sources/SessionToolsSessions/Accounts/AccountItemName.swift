import SecretStores
/// The name of an account's item, or of the record that the server rejected it.
///
/// An item's name is `account/`, the account, `/`, the identifier; `%` and `/` within them are
/// `%25` and `%2F`, so that no two accounts share a name. The record's name is the item's and
/// `/rejected`, so that no item has it.
struct AccountItemName {
  let account: AccountIdentifier
  let isRejection: Bool
  /// The item's identifier in its escaped form.
  private let escapedIdentifier: Substring

  private static let prefix = "account/"
  private static let rejection = "rejected"

  /// Names an item.
  ///
  /// - Throws: `invalidName` when the identifier is empty or too long.
  static func item(
    _ identifier: String, of account: AccountIdentifier, in namespace: StoreNamespace
  ) throws(StoreError) -> ItemName {
    let identifier = try Name(identifier, as: "item identifier")
    return try ItemName(
      prefix + escaped(account.text) + "/" + escaped(identifier.text), in: namespace)
  }

  /// Names the record of an item's rejection; `nil` when there is no room for it behind the item's
  /// name, which has more than 4,087 bytes then.
  static func rejection(of item: ItemName) -> ItemName? {
    try? ItemName(item.identifier + "/" + rejection, in: item.namespace)
  }

  /// Splits a name; `nil` when it does not belong to an account.
  init?(_ name: ItemName) {
    guard name.identifier.hasPrefix(Self.prefix) else { return nil }
    let parts = name.identifier.utf8.dropFirst(Self.prefix.utf8.count)
      .split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard 2...3 ~= parts.count, let text = Self.unescaped(Substring(parts[0])),
      // An invalid account name belongs to no account.
      let account = try? AccountIdentifier(text)
    else { return nil }
    if parts.count == 3, Substring(parts[2]) != Self.rejection { return nil }
    self.account = account
    escapedIdentifier = Substring(parts[1])
    isRejection = parts.count == 3
  }

  /// Returns whether it names an item with this identifier, or the record of its rejection.
  func isOf(_ identifier: String) -> Bool {
    Self.escaped(identifier).utf8.elementsEqual(escapedIdentifier.utf8)
  }

  private static func escaped(_ text: String) -> String {
    PercentEncoding.encode(text) { $0 == "%" || $0 == "/" }
  }

  private static func unescaped(_ part: Substring) -> String? {
    // Only what ``escaped(_:)`` returns: every name has one escaped form.
    guard let text = PercentEncoding.decode(String(part)),
      escaped(text).utf8.elementsEqual(part.utf8)
    else { return nil }
    return text
  }
}
