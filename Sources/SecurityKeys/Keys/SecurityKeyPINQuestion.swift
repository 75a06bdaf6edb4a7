/// A question for the PIN of a security key.
public struct SecurityKeyPINQuestion: Hashable, Sendable {
  /// The label of the key slot, such as "YubiKey of Ada"; empty when it has none.
  public let label: String
  /// The name that the key's maker gave it.
  public let product: String
  /// How many wrong PINs the key still accepts.
  ///
  /// After the last one it refuses every PIN until it is reset, which erases it.
  public let triesLeft: Int

  /// The question in one line, for a person.
  package var text: String {
    "PIN of \(label.isEmpty ? product : label) (\(Self.tries(triesLeft)) left"
      + (triesLeft == 1 ? "; a wrong PIN blocks the key until it is reset, which erases it)" : ")")
  }

  static func tries(_ count: Int) -> String { count == 1 ? "1 try" : "\(count) tries" }
}
