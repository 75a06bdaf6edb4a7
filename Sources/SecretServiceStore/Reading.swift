import DBus
import SessionToolsBase

/// What the provider keeps for an item, and what that says.
struct KeptLine: Sendable {
  let bytes: SecretBytes
  /// `corrupt` or `unsupportedVersion` when it is not the line of an item.
  let item: Result<(key: StoreKey, value: SecretBytes), StoreError>

  /// Whether it may be there in place of one that the provider does not give.
  fileprivate var isDoubtful: Bool {
    if case .failure(let error) = item { error.code == StoreError.corrupt } else { false }
  }
}

/// Reading what items hold.
///
/// A provider has three ways not to give a secret that is locked: gnome-keyring leaves it out,
/// KeePassXC answers with an error, and KWallet gives an empty one in its place, which may also be
/// the value of another program's item. So what is missing, empty or damaged counts only after the
/// provider has said, later than it was read, that nothing was locked.
extension Operation {
  /// How often items are asked for that are there, not locked, and not given.
  private static let largestRoundCount = 5

  /// What another program's item holds; `nil` when it is gone.
  ///
  /// - Throws: `locked` and the like.
  func foreignSecret(of path: String) async throws -> SecretBytes? {
    let secrets = try await secrets(of: [path], .large, in: nil) { secret in
      (secret, secret.byteCount == 0)
    } again: { () async throws in
      try await provider.present(of: [path], until: deadline).all
    }
    return secrets[path]
  }

  /// What one of our items holds; `nil` when it is gone.
  ///
  /// - Throws: `locked` and the like.
  func line(of path: String, in collection: String) async throws -> KeptLine? {
    let lines = try await lines(of: [path], .large, in: collection) { () async throws in
      try await provider.present(of: [path], until: deadline).all
    }
    return lines[path]
  }

  /// What the items with some attributes hold, as the provider keeps it.
  ///
  /// - Throws: `locked` and the like when any cannot be read.
  func lines(
    with attributes: [String: String], _ size: ItemAttributes.Size, in collection: String
  ) async throws -> [String: KeptLine] {
    let paths = try await items(with: attributes, in: collection)
    return try await lines(of: paths, size, in: collection) { () async throws in
      try await items(with: attributes, in: collection)
    }
  }

  private func lines(
    of paths: [String], _ size: ItemAttributes.Size, in collection: String,
    again: () async throws -> [String]
  ) async throws -> [String: KeptLine] {
    try await secrets(of: paths, size, in: collection) { secret in
      let line = KeptLine(
        bytes: secret,
        item: Result { () throws(StoreError) in try store.item(in: secret) })
      return (line, line.isDoubtful)
    } again: { () async throws in
      try await again()
    }
  }

  /// What some items hold.
  ///
  /// - Parameters:
  ///   - paths: The items.
  ///   - size: Whether they can be asked for together.
  ///   - collection: Where they are; `nil` when that is the store's and was not asked for yet.
  ///   - read: Makes something of a secret, and says whether it is one that a provider may give in
  ///     place of a locked one.
  ///   - again: The items that are there, when some were not given.
  /// - Returns: What was made of the secrets, by path; without items that are gone.
  /// - Throws: `locked` and the like when any cannot be read.
  private func secrets<Content>(
    of paths: [String], _ size: ItemAttributes.Size, in collection: String?,
    read: (SecretBytes) -> (content: Content, isDoubtful: Bool),
    again: () async throws -> [String]
  ) async throws -> [String: Content] {
    var paths = paths
    // Read twice, and not locked after the first time: the second time it counts. Once is not
    // enough, because a collection may be unlocked again before it is asked about.
    var seenDoubtful: Set<String> = []
    var (wasAllowed, refusal) = (false, DBusError.unexpected("GetSecrets"))
    for _ in 0..<Self.largestRoundCount {
      let given = try await givenSecrets(of: paths, size, refusal: &refusal).mapValues(read)
      let doubtful = paths.filter { given[$0]?.isDoubtful ?? true }
      if doubtful.isEmpty { return given.mapValues(\.content) }
      let collection = if let collection { collection } else { try await self.collection() }
      if try await unlockIfLocked(collection) {
        seenDoubtful = []
        continue
      }
      // KeePassXC has items that are locked in a collection that is not, one by one and for each
      // connection: until a person allows that to read them.
      let (present, locked) = try await provider.present(of: doubtful, until: deadline)
      if !locked.isEmpty {
        seenDoubtful = []
        // All of them are when the collection was locked just now.
        if try await unlockIfLocked(collection) { continue }
        if wasAllowed { throw store.notAllowed() }
        try await allow(locked)
        wasAllowed = true
        continue
      }
      // They were removed meanwhile, or others put in their place.
      let current = try await again()
      let isComplete = doubtful.allSatisfy { path in
        // Only a provider that is wrong goes on listing items that are not there.
        given[path] == nil ? !present.contains(path) : seenDoubtful.contains(path)
      }
      if isComplete, Set(current) == Set(paths) { return given.mapValues(\.content) }
      seenDoubtful = Set(doubtful.filter { given[$0] != nil })
      paths = current
    }
    throw refusal
  }

  /// What some items hold; those that are locked, or gone, may be left out, and with them others.
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
