import SecretStores
import Synchronization

/// A completion that is called exactly once: later calls are ignored, and releasing it uncalled
/// calls it with ``SessionError/Code/abandoned``.
final class SingleCompletion: Sendable {
  /// Unchecked: only the one thread that takes it out of the mutex calls it.
  private struct Held: @unchecked Sendable {
    let call: RefreshCompletion
  }

  private let name: String
  private let completion: Mutex<Held?>

  /// - Parameters:
  ///   - name: The name of the session, or of the type, that is refreshed.
  ///   - completion: The completion to call.
  init(of name: String, _ completion: @escaping RefreshCompletion) {
    self.name = name
    self.completion = Mutex(Held(call: completion))
  }

  func callAsFunction(_ error: RefreshError?) {
    // Called outside the mutex, since it may do anything.
    completion.withLock { $0.take() }?.call(error)
  }

  deinit {
    self(
      .unableToRefresh(
        error: SessionError(
          .abandoned, session: name,
          "the refresh handler ended without calling its completion")))
  }
}
