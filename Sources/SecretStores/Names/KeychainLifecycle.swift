/// How long items are meant to last.
public enum KeychainLifecycle: Equatable, Sendable {
  /// Until they are removed.
  case unmanaged
  /// As long as this installation of the program, which has this identifier.
  ///
  /// Use ``InstallIdentifier/current(application:)`` for one that is made once and kept.
  case currentInstall(identifier: String)
}
