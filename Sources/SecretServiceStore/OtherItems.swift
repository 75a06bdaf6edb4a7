package import SessionToolsBase

/// The items of a collection by the programs that made them.
extension SecretServiceStore {
  /// Returns which items the collection has, for a migration that found none of those it was to
  /// read; blocks.
  ///
  /// - Parameter wanted: The source that the migration read, such as `go-keyring`.
  /// - Returns: One entry for the items of each source, with the argument that reads them.
  /// - Throws: The errors of ``asyncValue(for:)``.
  package func otherItems(than wanted: String) throws(StoreError) -> [Omission] {
    let items = try waiting { store async throws(StoreError) in
      try await store.foreignItems(with: [:])
    }
    var counts: [Maker: Int] = [:]
    for item in items { counts[Maker(item.attributes), default: 0] += 1 }
    let collection = collection.name ?? ""
    return counts.sorted { $0.key < $1.key }.map { maker, count in
      Omission(
        name, part: "\(count) \(count == 1 ? "item" : "items") \(maker.name)",
        reason: maker.reason(wanted, collection))
    }
  }
}

/// What made an item, as far as its attributes show it.
private enum Maker: Hashable, Comparable {
  /// A source reads it: `go-keyring`.
  case source(String)
  /// KWallet's own interface made it.
  case kwallet
  /// A program of its own made it, which names this schema.
  case schema(String)
  /// Nothing shows it.
  case unknown

  init(_ attributes: [String: String]) {
    if attributes[ItemAttributes.version] != nil {
      self = .source("secret-service")
    } else if Self.isOfKWallet(attributes) {
      self = .kwallet
    } else if let dialect = ForeignSecretServiceItems.Dialect.all.first(where: {
      $0.takes(attributes)
    }) {
      self = .source(dialect.name)
    } else if let schema = attributes[ItemAttributes.schema] {
      self = .schema(schema)
    } else {
      self = .unknown
    }
  }

  private static func isOfKWallet(_ attributes: [String: String]) -> Bool {
    attributes[ItemAttributes.schema]?.hasPrefix("org.kde.KWallet.") == true
  }

  var name: String {
    switch self {
    case .source("secret-service"): "of this library"
    case .source(let name): "of \(name)"
    case .kwallet: "of KWallet itself"
    case .schema(let schema): "of the schema \(schema)"
    case .unknown: "without a schema"
    }
  }

  func reason(_ wanted: String, _ collection: String) -> String {
    switch self {
    case .source(wanted): "they have no names for it; copy them by hand"
    case .source(let name): "\(wanted): does not read them; \(name):\(collection) does"
    case .kwallet:
      "no source reads them; export them with KWalletManager, or copy them by hand with "
        + "kwallet-query"
    case .schema, .unknown:
      "no source reads them; copy them by hand from the program that made them, or with "
        + "secret-tool search"
    }
  }
}
