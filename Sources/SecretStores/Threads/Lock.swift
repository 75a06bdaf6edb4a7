import Glibc

/// A value that one thread uses at a time, where many threads use it often.
///
/// Swift's `Mutex` is passed from the thread that unlocks it to one that waits (`FUTEX_UNLOCK_PI`)
/// and may not run yet: while threads keep coming, each use then costs two thread switches. This
/// lock goes to any thread that asks while it is free. A thread that locks it twice waits forever.
@safe package struct Lock<Value: ~Copyable>: ~Copyable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let value: UnsafeMutablePointer<Value>

  package init(_ value: consuming sending Value) {
    unsafe mutex = .allocate(capacity: 1)
    unsafe mutex.initialize(to: pthread_mutex_t())
    unsafe pthread_mutex_init(mutex, nil)
    unsafe self.value = .allocate(capacity: 1)
    unsafe self.value.initialize(to: value)
  }

  deinit {
    unsafe value.deinitialize(count: 1)
    unsafe value.deallocate()
    unsafe pthread_mutex_destroy(mutex)
    unsafe mutex.deallocate()
  }

  /// Runs a closure while no other thread uses the value.
  ///
  /// - Throws: What the closure throws.
  package borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    return try unsafe body(&value.pointee)
  }
}

/// Unchecked, because the mutex orders all uses of the value.
extension Lock: @unchecked Sendable where Value: ~Copyable {}
