import Foundation
import Synchronization

/// Runs blocking code on a thread of its own, without holding a thread of the pool.
func onThread<Result: Sendable>(
  _ body: @escaping @Sendable () throws -> Result
) async throws -> Result {
  try await withCheckedThrowingContinuation { continuation in
    Thread.detachNewThread { continuation.resume(with: Swift.Result { try body() }) }
  }
}

/// A value that several tasks and threads change.
final class Shared<Value: Sendable>: Sendable {
  private let value: Mutex<Value>

  init(_ value: Value) {
    self.value = Mutex(value)
  }

  var current: Value { value.withLock { $0 } }

  func update<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
    value.withLock { value in body(&value) }
  }
}

/// A reference that does not retain its object.
final class Weak<Object: AnyObject & Sendable>: Sendable {
  private let reference: Mutex<WeakReference<Object>>

  init(_ object: Object) {
    reference = Mutex(WeakReference(object: object))
  }

  var value: Object? { reference.withLock { $0.object } }
}

private struct WeakReference<Object: AnyObject & Sendable>: Sendable {
  weak var object: Object?
}
