/// Is called when a refresh ended: with `nil` when it worked.
public typealias RefreshCompletion = (_ error: RefreshError?) -> Void

/// Is called when several refreshes ended: with the errors, or with `nil` when all worked.
public typealias RefreshAllCompletion = (_ errors: [RefreshError]?) -> Void

/// Refreshes something and calls the completion when done, on any thread.
public typealias RefreshHandler = (_ completion: @escaping RefreshCompletion) -> Void

/// When a refresh should happen.
public enum RefreshStrategy: Sendable {
  /// Whenever it is asked for.
  case always
  /// When what there is has expired or is about to.
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
  /// A completion that is called twice counts once, and one that is dropped uncalled is an
  /// error. Cancelling the task does not cancel the refresh. Not called `refresh`, because
  /// Swift would then prefer it in `async` functions that call a method of that name of their
  /// own without `await`.
  ///
  /// - Throws: What the refresh ended with.
  public func refreshNow() async throws(RefreshError) {
    let error = await withCheckedContinuation { continuation in
      let answer = SingleCompletion { continuation.resume(returning: $0) }
      refresh { answer($0) }
    }
    if let error { throw error }
  }
}
