#if ServiceAdapters
public import ServiceLifecycle
import SessionToolsBase

/// A service for swift-service-lifecycle that ends only when the answers to all refreshes are
/// stored.
///
/// ```swift
/// let group = ServiceGroup(
///   services: [SessionRefreshService(), server],
///   gracefulShutdownSignals: [.sigterm], logger: logger)
/// try await group.run()
/// ```
///
/// Put it before the services that use sessions: a group shuts its services down in reverse
/// order, and no refresh begins after this service has begun to shut down.
public struct SessionRefreshService: Service {
  /// The error when, at the end of the timeout, refreshes are still under way or an answer cannot
  /// be stored.
  public struct NotEnded: Error, CustomStringConvertible {
    /// How long the service waited.
    public let timeout: Duration

    /// What happened, and what to do.
    public var description: String {
      "Refreshes have not ended within \(timeout). Users whose answers arrive later must sign in "
        + "again. Allow more time."
    }
  }

  private let timeout: Duration

  /// Creates the service; does nothing until it is run.
  ///
  /// - Parameter timeout: How long to wait for refreshes at shutdown; 30 s by default.
  public init(timeout: Duration = .seconds(30)) {
    self.timeout = timeout
  }

  /// Waits until the group is shut down or cancelled, and then until all refreshes have ended.
  ///
  /// - Throws: ``NotEnded``.
  public func run() async throws {
    // This throws if the group is cancelled because another service failed; answers are stored in
    // that case too.
    try? await gracefulShutdown()
    let timeout = timeout
    // In a new task, which is not cancelled together with this one.
    let hasEnded = await Task { await SessionRefreshes.end(within: timeout) }.value
    guard hasEnded else { throw NotEnded(timeout: timeout) }
  }
}
#endif
