import Synchronization

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
