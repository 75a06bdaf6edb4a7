import SecretStores
/// A closure that is called when a refresh has ended, with `nil` if it succeeded.
public typealias RefreshCompletion = (_ error: RefreshError?) -> Void

/// A closure that is called when several refreshes have ended, with the errors, or `nil` if all
/// succeeded.
public typealias RefreshAllCompletion = (_ errors: [RefreshError]?) -> Void

/// A closure that refreshes something and calls the completion when done, on any thread.
public typealias RefreshHandler = (_ completion: @escaping RefreshCompletion) -> Void

/// When a refresh should happen.
public enum RefreshStrategy: Sendable {
  /// Whenever it is requested.
  case always
  /// When the item has expired or is about to.
  case ifNeeded
  /// Not at all.
  case never
}

/// Something that can be refreshed, such as a session whose token expires.
public protocol Refreshable {
  /// Refreshes and calls the completion once, on any thread.
  func refresh(completion: @escaping RefreshCompletion)
}

extension Refreshable {
  /// Refreshes and waits for the end: ``refresh(completion:)`` for `async` functions.
  ///
  /// A completion that is called twice counts once, and releasing it uncalled is an error.
  /// Cancelling the task does not cancel the refresh. The function is not called `refresh`, because
  /// Swift would then prefer it in `async` functions that call their own method of that name
  /// without `await`.
  ///
  /// - Throws: The error that the refresh ended with.
  public func refreshNow() async throws(RefreshError) {
    let error = await withCheckedContinuation { continuation in
      let answer = SingleCompletion(of: "\(type(of: self))") { continuation.resume(returning: $0) }
      refresh { answer($0) }
    }
    if let error { throw error }
  }
}
