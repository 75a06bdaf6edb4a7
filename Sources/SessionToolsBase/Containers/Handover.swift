package import Dispatch

/// A value that is passed to another thread.
///
/// The unchecked conformance is true because the creator gives the value up: it is passed as
/// `sending`.
struct Handover<Value>: @unchecked Sendable {
  let value: Value

  init(_ value: sending Value) {
    self.value = value
  }
}

extension DispatchQueue {
  /// Runs blocking work here while the task is suspended, so that no thread of the cooperative pool
  /// is blocked.
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
