import ArgumentParser
import SessionToolsBase

/// `session-tools credential-server`.
struct CredentialServerCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "credential-server",
    abstract: "Give services items of a store, as systemd credentials.",
    discussion: """
      systemd starts this when a unit with LoadCredential=NAME:SOCKET is started, and its socket \
      unit listens on SOCKET (Accept=no). The unit gets the item with the identifier NAME, of the \
      service that is named as the unit, such as mail.service, or of the service that --service \
      names. Only root and the user that runs this may ask. If there is no such item, or the \
      store cannot be opened, the unit that asks fails, with status 243/CREDENTIALS and the \
      message "Argument list too long"; the journal of this service has the reason. A unit that \
      is reloaded (RefreshOnReload=credentials, systemd 260) keeps what it has then.

      The store stays open until no unit has asked for 30 seconds; then this ends, and systemd \
      starts it again when it is needed.

      Example:
        ExecStart=/usr/bin/session-tools credential-server /var/lib/secrets \\
          --credential secrets-key
      """)

  @OptionGroup var opening: OpeningOptions<StoreArgument>

  @Option(
    name: .long,
    help: ArgumentHelp(
      "The service of all items; by default the unit that asks.", valueName: "name"))
  var service: String?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "End when no unit has asked for this time; 30 by default.", valueName: "seconds"))
  var idle = 30.0

  func validate() throws {
    guard (0...1e9).contains(idle) else {
      throw ValidationError("--idle takes a number of seconds, 0 or more.")
    }
  }

  func run() throws {
    let listeners = LocalConnection.listeners
    guard !listeners.isEmpty else {
      throw Failure(
        .usage,
        "systemd passed no socket; start this by a socket unit, or by systemd-socket-activate")
    }
    let server = CredentialServer(
      listeners: listeners, idleTimeout: .seconds(idle), sendingTimeout: opening.timeout)
    // Opened for the first unit that asks, so that a failure is an answer to it.
    var open: Result<ItemStore, any Error>?
    do throws(SystemCallError) {
      try server.run {
        if case .success = open { return }
        open = Result { try opening.openItems() }
      } _: { request in
        let name = try ItemName(
          request.credential, in: StoreNamespace(service: service ?? request.unit))
        guard let items = try open?.get() else { preconditionFailure("it was opened before") }
        do {
          // systemd asks, for a process that it has not started yet.
          let value = try items.value(
            for: name, as: Self.configuration.commandName ?? "", process: 1, unit: request.unit)
          guard let value else {
            throw Failure.noItem(name, in: items.location)
          }
          return value
        } catch let error as StoreError {
          // It may have been repaired or rotated since, and is opened again for the next unit.
          items.close()
          open = nil
          throw error
        }
      }
    } catch {
      throw StoreError(error, path: "the socket")
    }
    try? open?.get().close()
  }
}
