/// The refreshes of this process, for its orderly end.
public enum SessionRefreshes {
  /// Begins no more refreshes, and waits until those under way have ended.
  ///
  /// A service that is told to end, by SIGTERM or otherwise, calls this before it exits: a server
  /// takes a refresh token for spent when it receives it, so that a user whose answer is not stored
  /// has to sign in again. An answer that could not be stored when it came, such as on a full disk, is
  /// stored now if that works. Afterwards, in this process, a session whose item has to be refreshed
  /// throws ``SessionError/temporarilyFailed``.
  ///
  /// - Parameter timeout: How long to wait; 30 s.
  /// - Returns: Whether all answers that came are stored. When `false`, refreshes are still under way,
  ///   or an answer cannot be stored.
  public static func end(within timeout: Duration = .seconds(30)) async -> Bool {
    await withTaskGroup(of: Bool.self) { group in
      group.addTask {
        await RefreshSlots.shared.close()
        // Storing may block, where there is no store below a container.
        let isStored = await withTaskExecutorPreference(refreshThreads) {
          await SharedStateMembership.storeUnsavedItems()
        }
        return isStored && !Task.isCancelled
      }
      group.addTask {
        // Fails only when the first has ended.
        try? await SystemSessionClock().sleep(for: timeout)
        return false
      }
      defer { group.cancelAll() }
      return await group.next() ?? true
    }
  }
}
