import SecretStores
/// The refreshes of this process, for an orderly shutdown.
public enum SessionRefreshes {
  /// Begins no more refreshes, and waits until those under way have ended.
  ///
  /// A service that is asked to end, by SIGTERM or otherwise, calls this before it exits: a server
  /// considers a refresh token spent when it receives it, so that a user whose response is not
  /// stored must sign in again. A response that could not be stored when it came, such as on a full
  /// disk, is stored now if possible. Afterwards, in this process, a session whose item needs a
  /// refresh throws ``SessionError/Code/temporarilyFailed``.
  ///
  /// - Parameter timeout: How long to wait; 30 s.
  /// - Returns: Whether all received responses are stored. When `false`, refreshes are still under
  ///   way, or a response cannot be stored.
  public static func end(within timeout: Duration = .seconds(30)) async -> Bool {
    await withTaskGroup(of: Bool.self) { group in
      group.addTask {
        await RefreshSlots.shared.close()
        // Storing may block, where a container is not on a store.
        let isStored = await withTaskExecutorPreference(refreshThreads) {
          await SharedStateMembership.storeUnsavedItems()
        }
        return isStored && !Task.isCancelled
      }
      group.addTask {
        // Fails only when the first task has ended.
        try? await SystemSessionClock().sleep(for: timeout)
        return false
      }
      defer { group.cancelAll() }
      return await group.next() ?? true
    }
  }
}
