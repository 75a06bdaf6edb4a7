import ArgumentParser

/// `session-tools agent`, which `unlock` starts, or systemd with a socket.
struct AgentCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "agent", abstract: "Keep keys for unlock, until the last of them has ended.",
    shouldDisplay: false)

  func run() throws {
    let passed = LocalConnection.listeners.first
    System.leaveTheStarter(keeping: passed)
    // If another agent runs, that one is asked.
    guard let door = try AgentDoor.open(passed: passed) else { return }
    let keys = KeptKeys()
    let wake = try System.Wake()
    System.discardErrors()
    var server = AgentServer(
      door, keys: keys, wake: wake, watch: DesktopWatch(over: keys, wake))
    try server.run()
  }
}
