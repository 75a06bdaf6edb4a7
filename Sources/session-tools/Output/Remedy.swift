import SessionToolsBase
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
    switch error.detail {
    case .noStore:
      (originIfDefault(error.store) ?? "Name an existing store")
        + ", or make one with session-tools init " + error.store.shellQuoted
    case .lockedCollection(let name):
      "Run session-tools unlock secret-service:\(name?.shellQuoted ?? "") where the desktop can "
        + "ask for the password"
    default: nil
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
