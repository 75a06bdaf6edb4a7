/// A store of this package that compares an item and makes changes in one step.
///
/// Sessions change items of other stores while they have exclusive access to a name: three calls,
/// each of them a round trip where the store is a server.
package protocol ConditionalStore: SecretStore {
  /// Makes changes, all or none, if the stored item meets a condition.
  ///
  /// Between comparing the item and making the changes nothing changes the item.
  ///
  /// - Returns: Whether they were made.
  /// - Throws: As ``SecretStore/asyncApply(_:)``.
  func asyncApply(
    _ changes: [StoreChange], if condition: ItemCondition
  ) async throws(StoreError) -> ChangeOutcome

  /// Makes sure, as far as that can be known, that a value of this size can be stored.
  ///
  /// For what cannot be undone, such as a request that spends a token. It blocks.
  ///
  /// - Throws: What storing it would throw.
  func checkRoom(forValueOf byteCount: Int) throws(StoreError)
}

extension ConditionalStore {
  package func checkRoom(forValueOf byteCount: Int) throws(StoreError) {}
}

/// A conditional store whose natural operations block.
package protocol BlockingConditionalStore: BlockingSecretStore, ConditionalStore {
  /// Makes changes, all or none, if the stored item meets a condition.
  ///
  /// - Returns: Whether they were made.
  /// - Throws: As ``SecretStore/apply(_:)``.
  func apply(
    _ changes: [StoreChange], if condition: ItemCondition
  ) throws(StoreError) -> ChangeOutcome
}

extension BlockingConditionalStore {
  /// Runs the blocking twin on ``BlockingSecretStore/executor``.
  ///
  /// - Throws: As the blocking twin.
  package func asyncApply(
    _ changes: [StoreChange], if condition: ItemCondition
  ) async throws(StoreError) -> ChangeOutcome {
    try await onThread { store throws(StoreError) in try store.apply(changes, if: condition) }
  }
}

/// What must be stored under a name for a change to be made.
package struct ItemCondition: Sendable {
  package let name: ItemName
  /// The versions that meet it; `nil` when no item must be stored.
  private let versions: Set<ItemVersion>?

  private init(_ name: ItemName, _ versions: Set<ItemVersion>?) {
    self.name = name
    self.versions = versions
  }

  /// Requires that one of some versions is stored.
  package static func stored(_ name: ItemName, isOneOf versions: Set<ItemVersion>) -> Self {
    Self(name, versions)
  }

  /// Requires that nothing is stored.
  package static func isAbsent(_ name: ItemName) -> Self { Self(name, nil) }

  /// Returns the outcome of a change that depends on what is stored: `made` when it is to be made.
  package func outcome(whenStored value: SecretBytes?) -> ChangeOutcome {
    value.map { outcome(whenStored: ItemVersion($0)) } ?? outcomeWithoutItem
  }

  /// Returns the outcome of a change that depends on what is stored: `made` when it is to be made.
  package func outcome(whenStored version: ItemVersion) -> ChangeOutcome {
    versions?.contains(version) == true ? .made : .otherItem
  }

  /// The outcome of the change when nothing is stored.
  package var outcomeWithoutItem: ChangeOutcome { versions == nil ? .made : .noItem }
}

/// The outcome of a change that depends on the stored item.
package enum ChangeOutcome: Sendable {
  /// The change was made.
  case made
  /// Nothing was changed, because another item is stored.
  case otherItem
  /// Nothing was changed, because no item is stored.
  case noItem
}

/// The version of an item, among those stored one after the other under one name.
package enum ItemVersion: Hashable, Sendable {
  /// The bytes, identified by their length and fingerprint.
  case bytes(count: Int, fingerprint: UInt128)
  /// The number of a change, where the bytes are unknown.
  case change(Int)

  /// Identifies bytes.
  package init(_ bytes: SecretBytes) {
    self = .bytes(count: bytes.byteCount, fingerprint: bytes.fingerprint)
  }
}

/// A store of this package whose exclusive access may end before its closure does.
package protocol LeasingStore: SecretStore {
  /// Runs a closure while no one else has exclusive access to a name, with an item as it was stored
  /// when the access was given, or the error of reading it: the access and the item take one round
  /// trip.
  ///
  /// - Throws: As ``SecretStore/withExclusiveAccess(to:timeout:_:)-(_,_,()asyncthrows->Result)``.
  func withExclusiveAccess<Value>(
    to name: ItemName, timeout: Duration, reading item: ItemName,
    _ body: (Result<SecretBytes?, StoreError>) async throws -> Value
  ) async throws -> Value

  /// Makes sure that the exclusive access around the caller lasts for a while yet.
  ///
  /// For what no store can refuse, such as a request to another server. It asks the server only
  /// when the access was not renewed lately.
  ///
  /// - Throws: `exclusionLost`, or as any read.
  func confirmExclusion() async throws(StoreError)

  /// Returns when the exclusive access around the caller is about to end although its closure has
  /// not; `false` when the task was cancelled.
  func isLosingExclusion() async -> Bool
}

/// A store whose copies have its identity, such as those of a directory.
package protocol LocatedStore: SecretStore {
  /// Returns a text that every way to the items has, and no way to a copy of them; `nil` if that is
  /// not known now.
  ///
  /// Sessions share what they know by it, because a copy has its own users.
  func location() throws(StoreError) -> String?
}
