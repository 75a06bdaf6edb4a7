import ArgumentParser

/// The address that the browser returns to, for servers that do not allow any.
struct RedirectOptions: ParsableArguments {
  @Option(
    name: .customLong("redirect-path"),
    help: ArgumentHelp("The path of the redirect, as the server knows it.", valueName: "path"))
  var path = Self.standardPath

  @Option(
    help: ArgumentHelp(
      "The port of the redirect, if the server allows only one.", valueName: "number"))
  var port: UInt16?

  @Flag(help: "Return to localhost instead of 127.0.0.1, if the server allows only that name.")
  var localhost = false

  private static let standardPath = "/callback"

  /// The options as they are typed; empty if none was given.
  var options: [String] {
    (path == Self.standardPath ? [] : ["--redirect-path", path])
      + (port.map { ["--port", "\($0)"] } ?? []) + (localhost ? ["--localhost"] : [])
  }
}
