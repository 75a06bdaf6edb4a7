package import Dispatch

/// A value on its way to another thread.
///
/// Unchecked, and true because whoever makes one gives the value up: it came in as `sending`.
struct Handover<Value>: @unchecked Sendable {
  let value: Value

  init(_ value: sending Value) {
    self.value = value
  }
}

extension DispatchQueue {
  /// Runs blocking work here while the task waits, so that no thread of the cooperative pool
  /// is held.
  package func blocking<Value>(
    _ work: @escaping @Sendable () throws -> sending Value
  ) async throws -> sending Value {
    try await withCheckedThrowingContinuation { continuation in
      async {
        do {
          continuation.resume(returning: try work())
        } catch {
          continuation.resume(throwing: error)
        }
      }
    }
  }
}
