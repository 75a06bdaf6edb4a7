/// How long items are meant to last.
public enum KeychainLifecycle: Equatable, Sendable {
  /// Until somebody removes them.
  case unmanaged
  /// As long as this installation of the program, which the identifier names.
  ///
  /// Use ``InstallIdentifier/current(application:)`` for one that is made once and kept.
  case currentInstall(identifier: String)
}
