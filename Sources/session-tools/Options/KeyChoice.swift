import ArgumentParser
import SessionTools

/// Options of which one at most says what opens a store.
protocol KeyChoice: ParsableArguments {
  /// Whose key it is, for messages; empty where there is one store only.
  static var owner: String { get }

  var keyFile: String? { get }
  var passphraseFile: String? { get }
  var passphraseDescriptor: Int32? { get }
  var passphrase: Bool { get }
  var credential: String? { get }
  var serviceKey: SecretServiceKey? { get }
}

extension KeyChoice {
  /// The one that was given, if any.
  var argument: KeyArgument? { arguments.first }

  private var arguments: [KeyArgument] {
    [
      keyFile.map(KeyArgument.keyFile), passphraseFile.map(KeyArgument.passphraseFile),
      passphraseDescriptor.map(KeyArgument.passphraseDescriptor),
      passphrase ? .passphrasePrompt : nil, credential.map(KeyArgument.credential),
      serviceKey.map(KeyArgument.secretService),
    ].compactMap(\.self)
  }

  func validate() throws {
    guard arguments.count <= 1 else {
      throw ValidationError("Give \(Self.owner)one key or passphrase, not several.")
    }
  }
}
