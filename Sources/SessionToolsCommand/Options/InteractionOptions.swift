import ArgumentParser

/// The option that decides whether a person may be asked.
struct InteractionOptions: ParsableArguments {
  @Flag(name: .long, help: "Never ask; fail instead.")
  var noInput = false

  /// Whether questions are allowed and there is a terminal to ask at.
  var canAsk: Bool { !noInput && System.hasTerminal }

  /// The options of a command that never asks.
  static var never: InteractionOptions {
    var options = InteractionOptions()
    options.noInput = true
    return options
  }
}
