#if ServiceAdapters
  public import ServiceLifecycle
  import SessionToolsBase

  /// Has a service end only when the answers to all its refreshes are stored, as a service of
  /// swift-service-lifecycle.
  ///
  /// ```swift
  /// let group = ServiceGroup(
  ///   services: [SessionRefreshService(), server],
  ///   gracefulShutdownSignals: [.sigterm], logger: logger)
  /// try await group.run()
  /// ```
  ///
  /// Put it before the services that use sessions: a group shuts its services down in the opposite
  /// order, and no refresh begins after this one has been told to end.
  public struct SessionRefreshService: Service {
    /// Refreshes were still under way when the time was over.
    public struct NotEnded: Error, CustomStringConvertible {
      /// How long they were waited for.
      public let timeout: Duration

      /// What happened, and what to do.
      public var description: String {
        "Refreshes have not ended within \(timeout): users whose answers come later have to sign "
          + "in again. Give them more time."
      }
    }

    private let timeout: Duration

    /// Makes one; does nothing until it is run.
    ///
    /// - Parameter timeout: How long to wait for refreshes in the end; 30 s.
    public init(timeout: Duration = .seconds(30)) {
      self.timeout = timeout
    }

    /// Waits until the group is shut down or cancelled, and then until all refreshes have ended.
    ///
    /// - Throws: ``NotEnded``.
    public func run() async throws {
      // It fails when the group is cancelled, since another service has failed: answers are stored
      // then, too.
      try? await gracefulShutdown()
      let timeout = timeout
      // In a task that is not cancelled together with this one.
      let hasEnded = await Task { await SessionRefreshes.end(within: timeout) }.value
      guard hasEnded else { throw NotEnded(timeout: timeout) }
    }
  }
#endif
