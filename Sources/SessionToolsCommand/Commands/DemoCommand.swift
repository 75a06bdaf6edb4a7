import ArgumentParser

/// `session-tools demo`.
struct DemoCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo",
    abstract: "Show what a session in a sealed store does, in a second.",
    discussion: """
      Works in a temporary directory, which is removed again. Uses no network.

      Example:
        session-tools demo
      """)

  func run() throws {
    try Demo.run()
  }
}

/// The other process of the demonstration.
struct DemoReaderCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo-reader", abstract: "Read the session of the demonstration.",
    shouldDisplay: false)

  @Argument var path: String
  @Argument var keyFile: String

  func run() throws {
    try Demo.read(path: path, keyFile: keyFile)
  }
}

/// `session-tools lock-demo`.
struct LockDemoCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "lock-demo",
    abstract: "Show a sealed store behind a gate, in a terminal.",
    discussion: """
      Makes a store in a temporary directory, under a passphrase of your choice, and shows its \
      content while the gate is open. The gate locks when you say so, when a question goes \
      unanswered for a while, and when logind reports that the desktop is locked or the machine \
      goes to sleep. Then the content is cleared from the screen and the store's keys are wiped \
      from memory, until the passphrase is typed again. The directory is removed at the end.

      Example:
        session-tools lock-demo --auto-lock 10
      """)

  @Option(
    help: ArgumentHelp("Lock after this time without an answer.", valueName: "seconds"))
  var autoLock = 30.0

  @OptionGroup var interaction: InteractionOptions

  func validate() throws {
    guard (0.1...86_400).contains(autoLock) else {
      throw ValidationError("--auto-lock takes 0.1 to 86400 seconds.")
    }
  }

  func run() throws {
    let demo = LockDemo(autoLock: .seconds(autoLock), interaction: interaction)
    try Interruption.during { try demo.run() }
  }
}
