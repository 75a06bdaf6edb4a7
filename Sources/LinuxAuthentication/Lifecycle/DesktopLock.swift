import SessionAuthentication

/// Whether a desktop is locked, from requests to lock it and from its own state, or whether the
/// person is away from it.
///
/// One lock can cause both, in either order, and some desktops never report their state. A request
/// that the desktop ignores still locks the program.
struct DesktopLock: Sendable {
  private var isLocked = false
  /// The state that the desktop reports: systemd's `LockedHint`.
  private var saysLocked = false

  /// What keeps the person away; it counts as a lock until all of it has ended.
  enum Absence {
    /// Another user's session is in front.
    case otherUser
    /// The desktop reports that nothing was done for long.
    case idle
  }

  private var absences: Set<Absence> = []

  /// Handles the beginning or the end of an absence.
  ///
  /// - Returns: The event to report.
  mutating func state(_ absence: Absence, _ isAway: Bool) -> SystemEvent? {
    let wasAway = !absences.isEmpty
    if isAway { absences.insert(absence) } else { absences.remove(absence) }
    guard wasAway == absences.isEmpty else { return nil }
    guard isAway else { return saysLocked ? nil : unlock() }
    isLocked = true
    return .sessionLocked
  }

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
    guard isLocked, absences.isEmpty else { return nil }
    isLocked = false
    return .sessionUnlocked
  }
}
