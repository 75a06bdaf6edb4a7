import ArgumentParser

/// How long others are waited for.
struct TimeoutOptions: ParsableArguments {
  @Option(
    name: .customLong("timeout"),
    help: ArgumentHelp(
      "How long to wait for another process that writes, or for the Secret Service; 10.",
      valueName: "seconds"))
  private var seconds: Double?

  var timeout: Duration { chosen ?? .seconds(10) }

  /// What was asked for, if it was.
  var chosen: Duration? { seconds.map { .seconds($0) } }

  func validate() throws {
    guard seconds.map({ (0...1e9).contains($0) }) ?? true else {
      throw ValidationError("--timeout takes a number of seconds from 0.")
    }
  }
}
