import ArgumentParser

/// How long others are waited for.
struct TimeoutOptions: ParsableArguments {
  @Option(
    name: .customLong("timeout"),
    help: ArgumentHelp(
      "How long to wait for another process that writes, or for the Secret Service.",
      valueName: "seconds"))
  private var seconds = 10.0

  var timeout: Duration { .seconds(seconds) }

  func validate() throws {
    guard seconds >= 0, seconds <= 1e9 else {
      throw ValidationError("--timeout takes a number of seconds from 0.")
    }
  }
}
