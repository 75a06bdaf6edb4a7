package import Dispatch

/// A value that is passed to another thread.
///
/// The unchecked conformance is true because the creator gives the value up: it is passed as
/// `sending`.
package struct Handover<Value>: @unchecked Sendable {
  package let value: Value

  package init(_ value: sending Value) {
    self.value = value
  }
}

extension DispatchQueue {
  /// Runs blocking work here while the task is suspended, so that no thread of the cooperative pool
  /// is blocked.
  ///
  /// - Throws: What the work throws.
  package func blocking<Value, Failure: Error>(
    _ work: @escaping @Sendable () throws(Failure) -> sending Value
  ) async throws(Failure) -> sending Value {
    try await result(of: work).get()
  }

  /// Runs blocking work as ``blocking(_:)``, and returns its result, where errors of one type
  /// cannot be thrown.
  package func result<Value, Failure: Error>(
    of work: @escaping @Sendable () throws(Failure) -> sending Value
  ) async -> sending Result<Value, Failure> {
    await withCheckedContinuation {
      (continuation: CheckedContinuation<Result<Value, Failure>, Never>) in
      async {
        do throws(Failure) {
          continuation.resume(returning: .success(try work()))
        } catch {
          continuation.resume(returning: .failure(error))
        }
      }
    }
  }
}
