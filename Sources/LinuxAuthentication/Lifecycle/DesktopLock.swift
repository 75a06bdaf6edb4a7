import SessionAuthentication

/// Whether a desktop is locked, by requests to lock it and by what it says of itself.
///
/// Both come for one lock, in either order, and some desktops say nothing of themselves. A request
/// that the desktop does not follow is still one to lock the program.
struct DesktopLock: Sendable {
  private var isLocked = false
  /// What the desktop says: systemd's `LockedHint`.
  private var saysLocked = false

  /// Somebody asks the desktop to lock, or to unlock.
  ///
  /// - Returns: What to tell of it.
  mutating func request(isLock: Bool) -> SystemEvent? {
    // It says itself what became of it: to lock again changes nothing, and it will say when it is
    // open.
    if saysLocked { return nil }
    if isLock {
      // Also after one that was not followed: the person may have unlocked the program since.
      isLocked = true
      return .sessionLocked
    }
    return unlock()
  }

  /// The desktop says whether it is locked.
  ///
  /// - Returns: What to tell of it.
  mutating func state(isLocked: Bool) -> SystemEvent? {
    guard saysLocked != isLocked else { return nil }
    saysLocked = isLocked
    guard isLocked else { return unlock() }
    // Also after a request, which may have been followed only now: the person may have unlocked the
    // program since.
    self.isLocked = true
    return .sessionLocked
  }

  private mutating func unlock() -> SystemEvent? {
    guard isLocked else { return nil }
    isLocked = false
    return .sessionUnlocked
  }
}
