import SecretServiceStore
import SessionToolsBase
import WebLogin

/// The tool's options and commands, in place of the advice that the library has for programs.
enum Remedy {
  /// Returns an error with what to type, where the library advises programs.
  static func typed(_ error: StoreError) -> StoreError {
    guard let remedy = remedy(for: error) else { return error }
    return StoreError(
      error.code, store: error.store, reason: error.reason, remedy: remedy, errno: error.errno,
      underlying: error.underlying)
  }

  /// Returns the text of an error of a login, with what to type.
  static func text(of error: WebLoginError) -> String {
    guard let remedy = remedy(for: error) else { return "\(error)" }
    return "\(reason(of: error)). \(remedy)."
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
    let keyring = SecretServiceStore.Collection.default.description
    // By the reason where a code has several.
    switch error.code {
    case StoreError.unavailable where error.reason.hasPrefix("there is no store"):
      return (originIfDefault(error.store) ?? "Name an existing store")
        + ", or make one with session-tools init " + error.store.shellQuoted
    case StoreError.locked where error.store.hasPrefix(keyring) && error.reason.contains("locked"),
      StoreError.promptDismissed where error.store.hasPrefix(keyring):
      // Behind it is a space, and the collection's name in quotes.
      let name = error.store.dropFirst(keyring.count + " '".count).dropLast()
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
}
