/// An event of the whole desktop or the machine.
public enum SystemEvent: Hashable, Sendable {
  /// The desktop was locked, or its screen saver covers it.
  case sessionLocked
  /// The desktop was unlocked: the person is back.
  case sessionUnlocked
  /// The machine is going to sleep.
  case willSleep
  /// The machine is awake again.
  case didWake
}

/// A source of events of the desktop or the machine.
public protocol LifecycleSource: Sendable {
  /// Listens until its task is cancelled.
  ///
  /// A source that can delay sleep does so until the receiver has returned. When the service behind
  /// it is restarted, the source continues.
  ///
  /// - Parameter receive: Called with each event, one after the other; should return quickly.
  /// - Throws: `serviceLost` when there is no such service, `notPermitted`.
  func run(
    _ receive: @escaping @Sendable (SystemEvent) -> Void
  ) async throws(AuthenticationError)
}
