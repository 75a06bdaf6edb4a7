import Synchronization

/// A completion that is called exactly once: later calls are ignored, and releasing it uncalled
/// calls it with ``RefreshHandlerError/abandoned``.
final class SingleCompletion: Sendable {
  /// Unchecked: only the one thread that takes it out of the mutex calls it.
  private struct Held: @unchecked Sendable {
    let call: RefreshCompletion
  }

  private let completion: Mutex<Held?>

  init(_ completion: @escaping RefreshCompletion) {
    self.completion = Mutex(Held(call: completion))
  }

  func callAsFunction(_ error: RefreshError?) {
    // Called outside the mutex, since it may do anything.
    completion.withLock { $0.take() }?.call(error)
  }

  deinit {
    self(.unableToRefresh(error: RefreshHandlerError.abandoned))
  }
}
