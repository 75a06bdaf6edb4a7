/// A store of this package that looks at an item and makes changes in one step.
///
/// Sessions change items of other stores while they have exclusive access to a name: three calls,
/// each of them a round trip where the store is a server.
package protocol ConditionalStore: SecretStore {
  /// Makes changes if a stored item is one of some versions.
  ///
  /// Between looking at the item and making the changes nothing changes the item. All changes are
  /// made, or none.
  ///
  /// - Parameters:
  ///   - changes: The changes, of any items.
  ///   - key: The item that is looked at.
  ///   - versions: The versions for which the changes are made.
  /// - Returns: Whether they were made.
  /// - Throws: As ``SecretStore/asyncApply(_:)``.
  func apply(
    _ changes: [StoreChange], if key: StoreKey, isOneOf versions: Set<ItemVersion>
  ) async throws(StoreError) -> ChangeOutcome
}

/// A store of this package whose exclusive access may end before its closure does.
package protocol LeasingStore: SecretStore {
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
