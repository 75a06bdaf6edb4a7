/// Something that waits for authentication, to be given up.
public struct DeferredWork: Sendable {
  let stop: @Sendable (AuthenticationError) -> Void

  init(_ stop: @escaping @Sendable (AuthenticationError) -> Void) {
    self.stop = stop
  }

  /// Gives it up, unless it was answered already; it is then answered with `appCancel`.
  public func cancel() {
    stop(.cancelledByApp)
  }
}
