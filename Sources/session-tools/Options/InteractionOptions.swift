import ArgumentParser

/// Whether a person may be asked.
struct InteractionOptions: ParsableArguments {
  @Flag(name: .long, help: "Never ask; fail instead.")
  var noInput = false

  /// Whether a question would reach someone.
  var canAsk: Bool { !noInput && System.hasTerminal }
}
