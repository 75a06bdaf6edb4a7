/// The name of one installation of a program, which distinguishes its items from those of another.
///
/// Compared byte for byte, as all names are in a store.
public struct InstallIdentifier: Hashable, Sendable, RawRepresentable {
  /// The identifier's text; 1 to 4,096 bytes where it is used.
  public let rawValue: String

  /// Makes an identifier of a text that the program chooses and keeps itself.
  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// Returns whether two identifiers have the same bytes.
  public static func == (left: InstallIdentifier, right: InstallIdentifier) -> Bool {
    left.rawValue.utf8.elementsEqual(right.rawValue.utf8)
  }

  /// Hashes the bytes.
  public func hash(into hasher: inout Hasher) {
    for byte in rawValue.utf8 {
      hasher.combine(byte)
    }
  }
}

extension InstallIdentifier {
  /// Returns the identifier of this installation, which is made when it is first requested.
  ///
  /// It is 128 random bits as 32 hexadecimal digits, kept in
  /// `$XDG_STATE_HOME/<application>/install-identifier` (by default below `~/.local/state`), which
  /// only the user can access. Any number of threads and processes may request it at the same time:
  /// one makes it and all get the same identifier. A returned identifier is durable; a new one is
  /// made only after the file was removed. May block for a disk write.
  ///
  /// - Parameter application: The program's name for itself, which becomes a directory: 1 to
  ///   255 bytes without "/" and NUL, and not "." or "..".
  /// - Returns: The same identifier each time.
  /// - Throws: `invalidName`; `corrupt` when the file contains anything else, which is never
  ///   replaced automatically; `unsafePermissions` when others could have written it or it is a
  ///   link; `accessDenied`, `noSpace`, `unavailable` or `io`.
  public static func current(application: String) throws(StoreError) -> InstallIdentifier {
    try InstallIdentifierFile(
      application: application, stateDirectory: try UserDirectory.state.path
    ).obtain()
  }

  /// Returns the identifier kept below a directory of the caller's choice.
  ///
  /// - Throws: As ``current(application:)``.
  package static func current(
    application: String, stateDirectory: String
  ) throws(StoreError) -> InstallIdentifier {
    try InstallIdentifierFile(application: application, stateDirectory: stateDirectory).obtain()
  }
}

/// How long items are meant to last.
public enum KeychainLifecycle: Equatable, Sendable {
  /// Until they are removed.
  case unmanaged
  /// As long as this installation of the program, which has this identifier.
  ///
  /// Use ``InstallIdentifier/current(application:)`` for one that is made once and kept.
  case currentInstall(identifier: String)
}
