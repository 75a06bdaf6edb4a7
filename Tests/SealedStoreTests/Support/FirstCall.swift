import SessionToolsStoreTestSupport
import Testing

extension FaultyFileSystem {
  /// Returns a rule that runs a closure just before the first call of a kind on a file.
  static func before(
    _ kind: Call.Kind, _ name: String, _ body: @escaping @Sendable () throws -> Void
  ) -> Rule {
    let isDone = Locked(false)
    return { call in
      guard call.kind == kind, call.name == name else { return nil }
      let isFirst = isDone.withLock { isDone in
        defer { isDone = true }
        return !isDone
      }
      if isFirst { #expect(throws: Never.self) { try body() } }
      return nil
    }
  }
}
