/// An item that one task has read for all that asked at the same time.
struct SharedItem: Sendable {
  /// `nil` when there is no item.
  let bytes: SecretBytes?
  /// Whether it is the item that the refresh under way found.
  var isSubject = false
  /// The read that must be ended by the task that made it.
  var read: Int?
}

extension SharedSessionState {
  /// Returns the item as it is stored, or as the refresh under way found it.
  ///
  /// It is read once for all tasks that ask at the same time. The caller must then call
  /// `end(_:at:)`.
  ///
  /// - Returns: The result of a read that began after this call.
  /// - Throws: What the store throws.
  func storedItem(at address: ItemAddress, by reader: ObjectIdentifier) async throws -> SharedItem {
    let arrival = reads.beginCount
    while !Task.isCancelled {
      switch reads.turn(of: reader, since: arrival) {
      case .waits(let answer):
        if let result = await answer.value(whenCancelled: nil) { return try result.get() }
      case .reads(let number):
        if let subject = subject(for: reader) {
          return SharedItem(bytes: subject, isSubject: true, read: number)
        }
        do {
          return SharedItem(bytes: try await address.store.value(for: address.key), read: number)
        } catch {
          reads.end(number, of: reader, with: .failure(error))
          throw error
        }
      }
    }
    // A cancelled task gets the result of its own read, as if it were alone.
    return SharedItem(bytes: try await address.store.value(for: address.key))
  }

  /// Lets the other tasks that asked for the item continue.
  func end(_ item: SharedItem, by reader: ObjectIdentifier) {
    guard let number = item.read else { return }
    let shared = SharedItem(bytes: item.bytes, isSubject: item.isSubject)
    reads.end(number, of: reader, with: .success(shared))
  }
}
