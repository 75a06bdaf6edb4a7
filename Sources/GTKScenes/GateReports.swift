import SessionAuthentication
import Synchronization

/// What a gate has reported since GTK's thread last read it.
///
/// However often other threads call the gate, at most one call of the main loop is under way, so
/// that they cannot hold it up.
final class GateReports: Sendable {
  struct Unread {
    /// The newest directive; `nil` when there was none.
    var directive: SceneDirective?
    /// Whether an evaluation has ended.
    var hasEnded = false
  }

  private let unread = Mutex<Unread?>(nil)

  /// Adds a directive, or the news that the gate's state has changed.
  ///
  /// - Parameters:
  ///   - directive: The directive; `nil` for a change of the state.
  ///   - read: Called on GTK's thread, unless an earlier call is still due.
  func add(_ directive: SceneDirective? = nil, _ read: @escaping @Sendable () -> Void) {
    let isFirst = unread.withLock { unread in
      let isFirst = unread == nil
      var new = unread ?? Unread()
      if let directive {
        new.directive = directive
        if case .authenticating = directive {} else { new.hasEnded = true }
      }
      unread = new
      return isFirst
    }
    if isFirst { GTKThread.perform(read) }
  }

  /// Returns what is unread, and forgets it.
  func take() -> Unread? { unread.withLock { $0.take() } }
}
