import SecretStores
import SessionToolsDBus

/// The errors that clients get: those of the Secret Service specification, and of D-Bus.
extension DBusError {
  static func noSuchObject(_ path: String) -> DBusError {
    DBusError(.remote("org.freedesktop.Secret.Error.NoSuchObject"), "there is no object \(path)")
  }

  static func noSession(_ path: String) -> DBusError {
    DBusError(
      .remote("org.freedesktop.Secret.Error.NoSession"), "this client has no session \(path)")
  }

  static func isLocked(_ text: String) -> DBusError {
    DBusError(.remote(isLockedName), text)
  }

  private static let isLockedName = "org.freedesktop.Secret.Error.IsLocked"

  /// Whether a person must unlock the store first.
  var saysLocked: Bool { name == Self.isLockedName }

  static func invalid(_ text: String) -> DBusError {
    DBusError(.remote("org.freedesktop.DBus.Error.InvalidArgs"), text)
  }

  static func unknownMethod(_ call: DBusCall) -> DBusError {
    DBusError(
      .remote("org.freedesktop.DBus.Error.UnknownMethod"),
      "\(call.path) has no method \(call.interface.map { "\($0)." } ?? "")\(call.method) "
        + "\(call.signature)")
  }

  static func limit(_ text: String) -> DBusError {
    DBusError(.remote("org.freedesktop.DBus.Error.LimitsExceeded"), text)
  }

  /// Returns the error of a store as clients get it.
  init(_ error: StoreError, unlockCommand: String) {
    let name =
      switch error.code {
      case .locked, .keyMissing, .wrongKey, .promptDismissed: Self.isLockedName
      case .valueTooLarge: "org.freedesktop.DBus.Error.LimitsExceeded"
      case .invalidName: "org.freedesktop.DBus.Error.InvalidArgs"
      case .accessDenied, .unsafePermissions: "org.freedesktop.DBus.Error.AccessDenied"
      case .noSpace: "org.freedesktop.DBus.Error.NoMemory"
      case .corrupt, .io: "org.freedesktop.DBus.Error.IOError"
      default: "org.freedesktop.DBus.Error.Failed"
      }
    self =
      name == Self.isLockedName
      ? .isLocked("the store is locked: run \(unlockCommand)")
      : DBusError(.remote(name), "\(error)")
  }
}
