import DatabaseStore
import SessionToolsBase
import StoreMigration
import SessionToolsCommand

/// The tool's options and commands, in place of the advice that the library has for programs.
enum Remedy {
  /// Returns an error with what to type, where the library advises programs.
  static func typed(_ error: StoreError) -> StoreError {
    remedy(for: error).map(error.advising) ?? error
  }

  private static func remedy(for error: StoreError) -> String? {
    switch (error.underlying as? SQLState)?.code {
    case "28P01":
      return "Check the user in the address, and give the user's password with --password-file, "
        + "in ~/.pgpass, or when it is asked for"
    case "3F000", "42P01":
      return "Check the address and --schema, or make a store with session-tools-database init"
    case "42501":
      return "Connect as a user who may do this; session-tools-database doctor says what is missing"
    case "42P06": return "Use the store in it, or choose another name with --schema"
    default: break
    }
    switch error.detail {
    case .passwordInAddress:
      return "Leave it out, and give it with --password-file, in ~/.pgpass, or when it is asked for"
    case .unprovenServer:
      return "Remove sslmode, or give --allow-plaintext if the network is trusted"
    case .noStore:
      return "Name an existing store, or make one with session-tools init "
        + error.store.shellQuoted
    case .schemaName: return "Choose another one with --schema"
    case .lockedCollection, nil: return nil
    }
  }

  /// Returns the text of an error: what happened, and what to type.
  static func text(of error: MigrationError) -> String {
    switch error {
    case .weakerProtection:
      "\(error.reason). Give --allow-weaker if you intend this, or migrate to a store that opens "
        + "with a passphrase alone."
    case .store(let error): "\(typed(error))"
    default: MigrationRemedy.text(of: error)
    }
  }
}
