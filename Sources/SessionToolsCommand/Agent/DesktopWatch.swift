import LinuxAuthentication
import SessionAuthentication
import Synchronization

/// Wipes the agent's keys when logind reports that the machine goes to sleep, or a locked desktop.
final class DesktopWatch: Sendable {
  private let keys: KeptKeys
  private let wake: System.Wake
  private let isUnderWay = Mutex(false)

  /// - Parameters:
  ///   - keys: The keys.
  ///   - wake: Signalled when they are wiped.
  init(over keys: KeptKeys, _ wake: System.Wake) {
    (self.keys, self.wake) = (keys, wake)
  }

  /// Begins, unless it is under way: logind may have started since the last key came.
  func begin() {
    let isNew = isUnderWay.withLock { isUnderWay in
      defer { isUnderWay = true }
      return !isUnderWay
    }
    if isNew { Task { await run() } }
  }

  private func run() async {
    let logind = LogindSource(program: "session-tools", reason: "Wiping keys before sleep")
    // Without logind, as in a container, only time and the person end a key: unlock has said so.
    guard SharedLibrary.gio.problem == nil, (try? await logind.checkAvailability()) != nil
    else { return end() }
    // Ends when logind is gone; the error is of no use then.
    try? await logind.run { [self] event in
      switch event {
      case .sessionLocked, .willSleep:
        // Before this returns, because sleep waits for it.
        wipe()
      case .sessionUnlocked, .didWake: break
      }
    }
    // A key that comes from here on begins this again, before it is wiped with the others: nothing
    // reports sleep for them, and no one was told.
    end()
    wipe()
  }

  private func end() { isUnderWay.withLock { $0 = false } }

  private func wipe() {
    keys.forgetAll()
    wake.signal()
  }
}
