package import SecretStores

/// The items of a collection by the programs that made them.
extension SecretServiceStore {
  /// Returns which items the collection has, for a migration that found none of those it was to
  /// read; blocks.
  ///
  /// - Parameter wanted: The source that the migration read, such as `go-keyring`.
  /// - Returns: One entry for the items of each source, with the argument that reads them.
  /// - Throws: The errors of ``asyncValue(for:)``.
  package func otherItems(than wanted: String) throws(StoreError) -> [Omission] {
    let counts = try waiting { store async throws(StoreError) in
      try await store.perform { operation in try await operation.makers() }
    }
    let collection = collection.name ?? ""
    return counts.sorted { $0.key < $1.key }.map { maker, count in
      Omission(
        name, part: "\(count) \(count == 1 ? "item" : "items") \(maker.name)",
        reason: maker.reason(wanted, collection))
    }
  }
}

extension Operation {
  /// Returns how many items of the collection each program made.
  fileprivate func makers() async throws -> [Maker: Int] {
    let collection = try await collection()
    try await unlockIfLocked(collection)
    var counts: [Maker: Int] = [:]
    for item in try await foundItems(items(with: [:], in: collection)) {
      // Migrations leave the keys of sealed stores where they are.
      if ItemAttributes.name(of: item.attributes)?.namespace == .storeKeys { continue }
      counts[item.isOfKWallet ? .kwallet : Maker(item.attributes), default: 0] += 1
    }
    return counts
  }
}

/// What made an item, as far as its attributes show it.
private enum Maker: Hashable, Comparable {
  /// A source reads it: `go-keyring`.
  case source(String)
  /// KWallet's own interface made it.
  case kwallet
  /// A person made it in KeePassXC.
  case keePassXC
  /// A program of its own made it, which names this schema.
  case schema(String)
  /// Nothing shows it.
  case unknown

  /// The schema that libsecret, and sometimes gnome-keyring, gives items that have none.
  private static let generic = "org.freedesktop.Secret.Generic"

  init(_ attributes: [String: String]) {
    if attributes[ItemAttributes.version] != nil {
      self = .source("secret-service")
    } else if attributes[ItemAttributes.schema] == "org.qt.keychain" {
      // KDE Frameworks 6 keeps what KWallet's own interface made under this schema too.
      self = .kwallet
    } else if let dialect = ForeignSecretServiceItems.Dialect.all.first(where: {
      $0.takes(attributes)
    }) {
      self = .source(dialect.name)
    } else if GivenAttributes.isEntryOfKeePassXC(attributes) {
      self = .keePassXC
    } else if let schema = attributes[ItemAttributes.schema], schema != Self.generic {
      self = .schema(schema)
    } else {
      self = .unknown
    }
  }

  var name: String {
    switch self {
    case .source("secret-service"): "of this library"
    case .source(let name): "of \(name)"
    case .kwallet: "of KWallet itself or a Qt program"
    case .keePassXC: "of KeePassXC itself"
    case .schema(let schema): "of the schema \(schema)"
    case .unknown: "without attributes that show their program"
    }
  }

  func reason(_ wanted: String, _ collection: String) -> String {
    switch self {
    case .source(wanted): "they have no names for it; copy them by hand"
    case .source(let name): "\(wanted): does not read them; \(name):\(collection) does"
    case .kwallet:
      "no source reads what KWallet's own interface made, as Python's keyring does on KDE; copy it "
        + "by hand, with kwallet-query -f FOLDER -r ENTRY WALLET"
    case .keePassXC:
      "keepass-xml: reads an export, which has all that an entry has: keepassxc-cli export "
        + "--format xml DATABASE | session-tools import STORE keepass-xml:-"
    case .schema, .unknown:
      "no source reads them; copy them by hand, from the program that made them or with Seahorse"
    }
  }
}
