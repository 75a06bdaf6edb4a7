import ArgumentParser
import Foundation
import SessionToolsSecretService
import SessionToolsBase
import SessionToolsDBus

/// `session-tools secret-service`.
struct SecretServiceCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "secret-service",
    abstract: "Be the session's keyring, with the items of a sealed store.",
    discussion: """
      Programs that keep secrets in a keyring (org.freedesktop.secrets on the session bus) then \
      keep them in the store, where there is no desktop as well: git, docker, Python's keyring, \
      secret-tool and others. It runs until the bus ends. While no key opens the store, the \
      keyring is locked; a program that unlocks it makes pinentry ask for the passphrase, on the \
      program's terminal or display. Where no one can be asked, the program gets an error that \
      says what to run.

      With a COMMAND, it runs until the command ends, and ends with its status: 128 and the \
      signal for one that was killed. Where there is no session bus, the command gets one of its \
      own.

      The items are those of the service org.freedesktop.secrets. Their names are sealed, too: \
      what a locked keyring has is not known.

      Example:
        session-tools init ~/vault --passphrase
        session-tools unlock ~/vault --for 8h
        session-tools secret-service ~/vault &
        secret-tool store --label=Mail user ada
        session-tools secret-service ~/vault -- bash
      """)

  /// How long the bus may take to answer.
  private static let timeout = Duration.seconds(25)

  @OptionGroup var opening: OpeningOptions<OptionalStoreArgument>

  @Argument(
    parsing: .postTerminator,
    help: ArgumentHelp("A command, and its arguments.", valueName: "command"))
  var command: [String] = []

  func validate() throws {
    if case .secretService? = opening.store.named {
      throw ValidationError("Name a sealed store, which is to be the keyring.")
    }
  }

  func run() throws {
    try SharedLibrary.gio.check()
    try SharedLibrary.gcrypt.check()
    guard let address = BusAddress.session else { throw runOnOwnBus() }
    let location = try opening.store.location()
    let opener = try opening.opener()
    // What is not there is not served.
    _ = try opener.place().keySlots()
    let access = try KeyringService(opener).access
    let running = try waiting {
      let connection = try await DBusConnection.open(address: address, timeout: Self.timeout)
      let service = SecretService(on: connection, access)
      do throws(DBusError) {
        try await service.start()
      } catch {
        throw Self.failure(error)
      }
      return (connection, service)
    }
    if StandardError.isTerminal {
      StandardError.say("\(location) is the keyring of this session.")
    }
    defer { withExtendedLifetime(running) {} }
    guard command.isEmpty else { throw try runCommand() }
    try waiting { await running.0.ended() }
  }

  private static func failure(_ error: DBusError) -> Failure {
    guard error.name == "org.freedesktop.DBus.Error.AddressInUse" else {
      return Failure(.unavailable, "the session bus: \(error.message)")
    }
    return Failure(
      .unavailable,
      "the keyring of this session is \(error.message) already. End it first; gnome-keyring with "
        + "systemctl --user mask --now gnome-keyring-daemon.socket gnome-keyring-daemon.service. "
        + "The bus starts it again unless org.freedesktop.secrets.service of session-tools is in "
        + "~/.local/share/dbus-1/services")
  }

  /// Runs this command again on a bus that ends with the command.
  private func runOnOwnBus() -> Failure {
    guard !command.isEmpty else {
      return Failure(
        .unavailable,
        "there is no session bus. Install dbus-user-session and log in again, or give a command "
          + "that gets a bus of its own, such as: session-tools "
          + (CommandLine.arguments.dropFirst() + ["--", "bash"]).asTyped)
    }
    let own = ["dbus-run-session", "--", Files.ownProgram] + CommandLine.arguments.dropFirst()
    let error = System.execute(own.map { Array($0.utf8) }, variables: [])
    return Failure(
      .unavailable,
      "dbus-run-session: \(CurrentProcess.message(for: error.errno)). Install dbus-daemon, which "
        + "has it")
  }

  private func runCommand() throws -> any Error {
    let program: StartedProgram
    do throws(SystemCallError) {
      program = try StartedProgram(
        command[0], Array(command.dropFirst()),
        streams: StartedProgram.Streams(
          input: STDIN_FILENO, output: STDOUT_FILENO, errors: STDERR_FILENO),
        place: .foreground)
    } catch {
      return Failure(
        error.errno == SystemCallError.noSuchFile ? .commandNotFound : .commandNotRunnable,
        "\(command[0]): \(CurrentProcess.message(for: error.errno))")
    }
    return ExitCode(program.wait() ?? 1)
  }
}
