import Foundation

/// Runs a closure on a thread of its own, without holding a thread of the pool.
package func onThread<Result: Sendable>(
  _ body: @escaping @Sendable () throws -> Result
) async throws -> Result {
  try await withCheckedThrowingContinuation { continuation in
    let thread = Thread { continuation.resume(with: Swift.Result { try body() }) }
    thread.stackSize = 1 << 20
    thread.start()
  }
}
