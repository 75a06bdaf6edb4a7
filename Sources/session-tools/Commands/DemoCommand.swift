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
