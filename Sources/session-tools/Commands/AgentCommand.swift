import ArgumentParser
import LinuxAuthentication
import SessionAuthentication
import ToolBase

/// `session-tools agent`, which `unlock` starts.
struct AgentCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "agent", abstract: "Keep keys for unlock, until the last of them has ended.",
    shouldDisplay: false)

  func run() throws {
    System.leaveTheStarter()
    // If another agent runs, that one is asked.
    guard let door = try AgentDoor.open() else { return }
    let keys = KeptKeys()
    let wake = try System.Wake()
    let listening = Task {
      let logind = LogindSource(program: "session-tools", reason: "Wiping keys before sleep")
      // Without logind, as in a container, only time and the person end a key: unlock has said so.
      guard SharedLibrary.gio.problem == nil, (try? await logind.checkAvailability()) != nil
      else { return }
      // Ends when logind is gone; the error is of no use then.
      try? await logind.run { event in
        switch event {
        case .sessionLocked, .willSleep:
          // Before this returns, because sleep waits for it.
          keys.forgetAll()
          wake.signal()
        case .sessionUnlocked, .didWake: break
        }
      }
      // From here on nothing reports sleep, and no one was told.
      keys.forgetAll()
      wake.signal()
    }
    defer { listening.cancel() }
    System.discardErrors()
    var server = AgentServer(door, keys: keys, wake: wake)
    try server.run()
  }
}
