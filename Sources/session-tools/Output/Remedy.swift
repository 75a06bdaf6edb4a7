import SecretServiceStore
import SessionToolsBase
import StoreMigration

/// The tool's options and commands, in place of the advice that the library has for programs.
enum Remedy {
  private static let ofOpenMigration =
    "Continue it with --resume, take it back with --undo, or forget it with --close"
  private static let ofUndoneMigration =
    "Finish undoing it with --undo, or forget it with --close"

  /// Returns the ways to go on with a migration that was begun.
  static func of(_ migration: OpenMigration) -> String {
    switch migration.state {
    case .undoing, .undone: ofUndoneMigration
    case .finished where !migration.deletesSource:
      "Remove the items from the source with --resume --delete-source, take it back with --undo, "
        + "or forget it with --close"
    case .unfinished, .finished: ofOpenMigration
    }
  }

  /// Returns an error with what to type, where the library advises programs.
  static func typed(_ error: StoreError) -> StoreError {
    guard let remedy = remedy(for: error) else { return error }
    return StoreError(
      error.code, store: error.store, reason: error.reason, remedy: remedy, errno: error.errno,
      underlying: error.underlying)
  }

  private static func remedy(for error: StoreError) -> String? {
    let keyring = SecretServiceStore.Collection.default.description
    // By the reason where a code has several.
    switch error.code {
    case StoreError.unavailable where error.reason.hasPrefix("there is no store"):
      return (originIfDefault(error.store) ?? "Name an existing store")
        + ", or make one with session-tools init " + error.store.shellQuoted
    case StoreError.locked where error.reason == "the keyring is locked",
      StoreError.promptDismissed where error.store.hasPrefix(keyring):
      let name = error.store.dropFirst(keyring.count).filter { $0 != "'" }
        .drop(while: { $0 == " " })
      let location = "secret-service:" + (name.isEmpty ? "" : String(name).shellQuoted)
      return "Run session-tools unlock \(location) where the desktop can ask for the password"
    default: return nil
    }
  }

  /// Returns where to change the default store, if a path is its path.
  private static func originIfDefault(_ path: String) -> String? {
    // Settings that cannot be read named no store.
    guard let (location, origin) = try? Settings.defaultStore(), "\(location)" == path else {
      return nil
    }
    return "It is the default store: name an existing one in \(origin)"
  }

  /// Returns the text of an error: what happened, and what to type.
  static func text(of error: MigrationError) -> String {
    guard let remedy = remedy(for: error) else { return "\(error)" }
    return "\(error.reason). \(remedy)."
  }

  private static func remedy(for error: MigrationError) -> String? {
    switch error {
    case .conflicts: return "Choose with --on-conflict skip, overwrite or keep-both"
    case .weakerProtection(let before, _):
      // A key in the keyring is enough only for items that need no more now.
      let isEnough = before.atRest.map { $0 <= .keyring } ?? false
      return "Give --allow-weaker if you intend this, or migrate to a store that was made with "
        + "session-tools init --passphrase" + (isEnough ? " or --key secret-service:NAME" : "")
    case .notRemovable:
      return "Only sealed stores and secret-service: can be emptied. Leave out --delete-source, "
        + "and remove the items with the program that made them"
    case .notClosed: return ofOpenMigration
    case .undone: return ofUndoneMigration
    case .other: return "Give --from and --to as when it was begun"
    case .nothingBegun, .store: return nil
    }
  }
}
