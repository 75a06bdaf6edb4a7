import SecretStores
/// The changes of an item that also put or remove the record of its rejection.
///
/// Each list is one change of a store that is atomic: there, a record says that there is no item.
/// Other stores make the changes in the order of the list, and may stop between two: then there are
/// both, and only the item counts. No order loses an item or, without one, the record.
extension ItemAddress {
  /// Stores the item of a user who signs in: no user is rejected any more.
  func signIn(_ bytes: SecretBytes) -> [StoreChange] {
    // Mostly there is no record. An atomic store of this package finds that out without another
    // read or sync.
    [.put(bytes, for: name)] + removalOfRecord
  }

  /// Removes the item of a user who signs out; otherwise an older record would count again.
  func signOut() -> [StoreChange] {
    removalOfRecord + [.remove(name)]
  }

  /// Removes the item that the server rejected, and records that.
  ///
  /// - Throws: `unencodable`.
  func reject(_ record: RecordedRejection) throws(StoreError) -> [StoreChange] {
    guard let rejection else { return [.remove(name)] }
    return [.put(try record.bytes(for: rejection), for: rejection), .remove(name)]
  }

  private var removalOfRecord: [StoreChange] { rejection.map { [.remove($0)] } ?? [] }

  // MARK: - Reading

  /// Returns the record; counts only if there is no item.
  ///
  /// It is read below a gate: it holds nothing that the gate protects.
  ///
  /// - Throws: As `SecretStore.value(for:)`; `undecodable`.
  func recordedRejection() throws(StoreError) -> RecordedRejection? {
    guard let rejection else { return nil }
    return try store.innermost.value(for: rejection)
      .map { bytes throws(StoreError) in try RecordedRejection(from: bytes, for: rejection) }
  }

  /// Returns the record; counts only if there is no item.
  ///
  /// - Throws: As the blocking twin.
  func recordedRejection() async throws(StoreError) -> RecordedRejection? {
    guard let rejection, let bytes = try await store.innermost.asyncValue(for: rejection) else {
      return nil
    }
    return try RecordedRejection(from: bytes, for: rejection)
  }
}
