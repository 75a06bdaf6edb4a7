/// Names one installation of a program, so that its items can be told from those of another.
public struct InstallIdentifier: Hashable, Sendable, RawRepresentable {
  /// The identifier's text; 1 to 4,096 bytes where it is used.
  public let rawValue: String

  /// Takes an identifier that the program made and keeps itself.
  public init(rawValue: String) {
    self.rawValue = rawValue
  }
}
