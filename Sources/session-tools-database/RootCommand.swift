import ArgumentParser
import DatabaseStore
import SessionToolsBase
import StoreMigration
import SessionToolsCommand

/// `session-tools-database`.
struct RootCommand: RootToolCommand {
  static let name = "session-tools-database"
  static let configuration = CommandConfiguration(
    commandName: name,
    abstract: "Makes and looks after a sealed store in a PostgreSQL database.",
    discussion: """
      A store is a schema of a database. It is named by the database's address, as psql takes it: \
      postgresql://USER@HOST/DATABASE, or keywords and values. The address names a host, or the \
      directory of a socket (postgresql://USER@/DATABASE?host=/var/run/postgresql), and it has no \
      password. The password is read from --password-file, or as psql does from the file that \
      PGPASSFILE names (~/.pgpass by default) or from the service that PGSERVICE names; \
      otherwise it is asked for on the terminal when the server wants one.

      The connection is made with TLS and a checked certificate, except on this machine.

      A key option names the store's key; without one, the file that SESSION_TOOLS_KEY_FILE names \
      is the key, and after that a passphrase is asked for on the terminal. The database never \
      gets a key, a name or a value.

      Data goes to standard output, everything else to standard error. No secret is ever an \
      argument.

      Example:
        session-tools-database init postgresql://admin@db.example.com/app \\
          --key-file app.key
        session-tools-database doctor postgresql://app@db.example.com/app

      Exit status:
      \(ExitStatus.list(statuses))
      """,
    version: Version.current,
    subcommands: [
      InitCommand.self, SlotsCommand.self, RotateCommand.self, MigrateCommand.self,
      DoctorCommand.self, AuditCommand.self,
    ])

  private static let statuses: [ExitStatus] = [
    .done, .failure, .unavailable, .wrongKey, .damaged, .alreadyExists, .unsafePermissions,
    .incomplete, .usage,
  ]

  static func outcome(of error: any Error) -> ErrorOutcome? {
    switch error {
    case let error as StoreError:
      ErrorOutcome(
        "\(Remedy.typed(error))", ExitStatus(error.code),
        isCancellation: error.code == .cancelled)
    case let error as MigrationError: ErrorOutcome(Remedy.text(of: error), ExitStatus(error))
    default: nil
    }
  }
}
