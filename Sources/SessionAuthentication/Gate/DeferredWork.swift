/// A call that waits for authentication, and can be cancelled.
public struct DeferredWork: Sendable {
  let stop: @Sendable (AuthenticationError) -> Void

  init(_ stop: @escaping @Sendable (AuthenticationError) -> Void) {
    self.stop = stop
  }

  /// Cancels the call with `appCancel`, unless it has been answered already.
  public func cancel() {
    stop(.cancelledByApp)
  }
}
