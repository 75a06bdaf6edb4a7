import SessionAuthentication

/// Whether a desktop is locked, from requests to lock it and from its own state.
///
/// One lock can cause both, in either order, and some desktops never report their state. A request
/// that the desktop ignores still locks the program.
struct DesktopLock: Sendable {
  private var isLocked = false
  /// The state that the desktop reports: systemd's `LockedHint`.
  private var saysLocked = false

  /// Handles a request to lock or unlock the desktop.
  ///
  /// - Returns: The event to report.
  mutating func request(isLock: Bool) -> SystemEvent? {
    // The desktop reports its own state: locking again changes nothing, and it will report the
    // unlock.
    if saysLocked { return nil }
    if isLock {
      // Report it even after an ignored request: the person may have unlocked the program since.
      isLocked = true
      return .sessionLocked
    }
    return unlock()
  }

  /// Handles the desktop's report of its state.
  ///
  /// - Returns: The event to report.
  mutating func state(isLocked: Bool) -> SystemEvent? {
    guard saysLocked != isLocked else { return nil }
    saysLocked = isLocked
    guard isLocked else { return unlock() }
    // Report it even after a request, which the desktop may have followed only now: the person may
    // have unlocked the program since.
    self.isLocked = true
    return .sessionLocked
  }

  private mutating func unlock() -> SystemEvent? {
    guard isLocked else { return nil }
    isLocked = false
    return .sessionUnlocked
  }
}
