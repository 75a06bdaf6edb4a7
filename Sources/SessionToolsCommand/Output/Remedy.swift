import DatabaseStore
import SessionToolsBase
import StoreMigration
import WebLogin

/// The tool's options and commands, in place of the advice that the library has for programs.
enum Remedy {
  /// Returns an error with what to type, where the library advises programs.
  static func typed(_ error: StoreError) -> StoreError {
    remedy(for: error).map(error.advising) ?? error
  }

  /// Returns the text of an error of a login, with what to type.
  static func text(of error: WebLoginError) -> String {
    guard let remedy = remedy(for: error) else { return "\(error)" }
    return "\(reason(of: error)). \(remedy)."
  }

  /// Returns the text of an error of a migration: what happened, and what to type.
  static func text(of error: MigrationError) -> String {
    if case .store(let error) = error { return "\(typed(error))" }
    return MigrationRemedy.text(of: error)
  }

  /// Returns what happened, without what to do.
  static func reason(of error: WebLoginError) -> String {
    error.reason + (error.refusal.map { " (\($0.error))" } ?? "")
  }

  /// Whether the remedies of an error are options of `session-tools login`, or the server's matter.
  static func isAboutLogin(_ error: WebLoginError) -> Bool {
    [
      WebLoginError.noMetadata, .invalidMetadata, .missingEndpoint, .unsupported, .refused,
    ].contains(error.code)
  }

  private static func remedy(for error: WebLoginError) -> String? {
    switch (error.code, error.refusal?.error) {
    case (WebLoginError.noBrowser, _):
      "Set BROWSER, or log in with --print-address, or with --device on another device"
    case (WebLoginError.noMetadata, _):
      "Check --issuer, or give --token-endpoint and --authorization-endpoint (or --device-endpoint)"
    case (WebLoginError.missingEndpoint, _):
      "Check the addresses of the server, or log in with --device or without it, whichever it "
        + "supports (--print-address if no browser opens here); --token-endpoint and the like give "
        + "addresses"
    case (WebLoginError.listenerFailed, _): "Log in with --device"
    case (WebLoginError.refused, "invalid_client"):
      "Check --client-id; a client that the server gave a secret cannot be used here"
    default: nil
    }
  }

  private static func remedy(for error: StoreError) -> String? {
    switch (error.underlying as? SQLState)?.code {
    case "28P01":
      return "Check the user in the address, and give the user's password with --password-file, "
        + "in ~/.pgpass, or when it is asked for"
    case "3F000", "42P01":
      return "Check the address and --schema, or make a store with session-tools init"
    case "42501":
      return "Connect as a user who may do this: session-tools doctor says what is missing in a "
        + "store, and init needs CREATE in the database and CREATEROLE"
    case "42P06": return "Use the store in it, or choose another name with --schema"
    default: break
    }
    switch error.detail {
    case .passwordInAddress:
      return "Leave it out, and give it with --password-file, in ~/.pgpass, or when it is asked for"
    case .unprovenServer:
      return "Write sslmode=verify-full in its place, or give --allow-plaintext if the network is "
        + "trusted"
    case .schemaName: return "Name one with --schema"
    case .noStore:
      return (originIfDefault(error.store) ?? "Name an existing store")
        + ", or make one with session-tools init " + error.store.shellQuoted
    case .lockedCollection(let name):
      return "Run session-tools unlock secret-service:\(name?.shellQuoted ?? "") where the desktop "
        + "can ask for the password"
    case .otherKindOfKey, nil: return nil
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
}

extension StoreError {
  /// Whether there is certainly no store in a directory.
  var isWithoutStoreInDirectory: Bool {
    if case .noStore? = detail { true } else { false }
  }
}
