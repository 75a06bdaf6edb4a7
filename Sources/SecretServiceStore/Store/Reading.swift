import SessionToolsDBus
import SecretStores

/// The secret of an item as the provider keeps it, and the item in it.
struct KeptLine: Sendable {
  let bytes: SecretBytes
  /// `corrupt` or `unsupportedVersion` when it is not the line of an item.
  let item: Result<(name: ItemName, value: SecretBytes), StoreError>

  /// Whether the provider may have returned it in place of a locked secret.
  fileprivate var isDoubtful: Bool {
    if case .failure(let error) = item { error.code == .corrupt } else { false }
  }
}

/// Reading the secrets of items.
///
/// Providers withhold a locked secret in three ways: gnome-keyring leaves it out, KeePassXC answers
/// with an error, and KWallet returns an empty secret in its place, which may also be the value of
/// another program's item. So a missing, empty or damaged secret counts only after the provider has
/// reported, later than the read, that nothing was locked.
extension Operation {
  /// How often to ask for items that exist and are not locked, but are not returned.
  private static let maximumRoundCount = 5
  /// With how many other items an empty one is read.
  private static let maximumCompany = 50

  /// Returns the secret of another program's item; `nil` when the item is gone.
  ///
  /// - Throws: `locked` and similar errors.
  func foreignSecret(of path: String) async throws -> SecretBytes? {
    let secrets = try await secrets(of: [path], .large) { secret in
      (secret, secret.byteCount == 0)
    } again: { () async throws in
      try await provider.present(of: [path], until: deadline).all
    }
    guard let secret = secrets[path], secret.isEmpty, !link.program.withholdsLockedSecrets else {
      return secrets[path]
    }
    return try await secretInCompany(of: path)
  }

  /// Returns the secret of an item that was empty, if it certainly is not withheld.
  ///
  /// A wallet can be closed and opened again between any two calls. But KWallet answers one call
  /// for several secrets at one time: so an empty one counts if it came with another one that is
  /// not empty.
  ///
  /// - Throws: `corrupt` when no other item shows it, `locked` and similar errors.
  private func secretInCompany(of path: String) async throws -> SecretBytes {
    let collection = Provider.collection(of: path)
    for _ in 0..<Self.maximumRoundCount {
      try await unlockIfLocked(collection)
      let others = try await provider.items(of: collection, until: deadline)
      for other in others.filter({ $0 != path }).prefix(Self.maximumCompany) {
        var refusal = DBusError.unexpected("GetSecrets")
        let given = try await givenSecrets(of: [path, other], .small, refusal: &refusal)
        if let secret = given[path], !secret.isEmpty || given[other]?.isEmpty == false {
          return secret
        }
      }
    }
    throw StoreError(
      .corrupt, store: store.name,
      reason: "the service returned an empty secret, as it does for one that is locked, and no "
        + "other item in the collection shows that it was unlocked",
      remedy: "Copy it by hand, or store an item that is not empty beside it and try again")
  }

  /// Returns the line of one of our items; `nil` when the item is gone.
  ///
  /// - Throws: `locked` and similar errors.
  func line(of path: String) async throws -> KeptLine? {
    let lines = try await lines(of: [path], .large) { () async throws in
      try await provider.present(of: [path], until: deadline).all
    }
    return lines[path]
  }

  /// Returns the lines of the store's items with some attributes, as the provider keeps them.
  ///
  /// - Throws: `locked` and similar errors when any of them cannot be read.
  func lines(
    with attributes: [String: String], _ extent: Extent, _ size: ItemAttributes.Size
  ) async throws -> [String: KeptLine] {
    let paths = try await items(with: attributes, extent)
    return try await lines(of: paths, size) { () async throws in
      try await items(with: attributes, extent)
    }
  }

  private func lines(
    of paths: [String], _ size: ItemAttributes.Size,
    again: () async throws -> [String]
  ) async throws -> [String: KeptLine] {
    try await secrets(of: paths, size) { secret in
      let line = KeptLine(
        bytes: secret,
        item: Result { () throws(StoreError) in try store.item(in: secret) })
      return (line, line.isDoubtful)
    } again: { () async throws in
      try await again()
    }
  }

  /// Returns the contents of some items.
  ///
  /// - Parameters:
  ///   - paths: The items.
  ///   - size: Whether the items can be read together.
  ///   - read: Converts a secret, and reports whether a provider may return it in place of a locked
  ///     one.
  ///   - again: Returns the existing items, when some were not returned.
  /// - Returns: The converted secrets, by path; without items that are gone.
  /// - Throws: `locked` and similar errors when any of them cannot be read.
  private func secrets<Content>(
    of paths: [String], _ size: ItemAttributes.Size,
    read: (SecretBytes) -> (content: Content, isDoubtful: Bool),
    again: () async throws -> [String]
  ) async throws -> [String: Content] {
    var paths = paths
    // A doubtful secret counts when it is read twice, with nothing locked after the first time.
    // Once is not enough, because a collection may be unlocked again before its state is checked.
    var seenDoubtful: Set<String> = []
    var (wasAllowed, refusal) = (false, DBusError.unexpected("GetSecrets"))
    for _ in 0..<Self.maximumRoundCount {
      let given = try await givenSecrets(of: paths, size, refusal: &refusal).mapValues(read)
      let doubtful = paths.filter { given[$0]?.isDoubtful ?? true }
      if doubtful.isEmpty { return given.mapValues(\.content) }
      if try await unlockIfLocked(collectionsOf: doubtful) {
        seenDoubtful = []
        continue
      }
      // KeePassXC locks single items in an unlocked collection, for each connection, until a person
      // allows that connection to read them.
      let (present, locked) = try await provider.present(of: doubtful, until: deadline)
      if !locked.isEmpty {
        seenDoubtful = []
        // All of them are locked when the collection was locked just now.
        if try await unlockIfLocked(collectionsOf: locked) { continue }
        if wasAllowed { throw store.notAllowed() }
        try await allow(locked)
        wasAllowed = true
        continue
      }
      // They were removed meanwhile, or replaced.
      let current = try await again()
      let isComplete = doubtful.allSatisfy { path in
        // Only a faulty provider continues to list items that do not exist.
        given[path] == nil ? !present.contains(path) : seenDoubtful.contains(path)
      }
      if isComplete, Set(current) == Set(paths) { return given.mapValues(\.content) }
      seenDoubtful = Set(doubtful.filter { given[$0] != nil })
      paths = current
    }
    throw refusal
  }

  /// Returns the secrets of some items; locked or missing items, and others with them, may be left
  /// out.
  private func givenSecrets(
    of paths: [String], _ size: ItemAttributes.Size, refusal: inout DBusError
  ) async throws(DBusError) -> [String: SecretBytes] {
    do throws(DBusError) {
      return try await link.lines(of: paths, size, until: deadline)
    } catch let error where error.saysLockedOrGone {
      refusal = error
      return [:]
    }
  }
}
