import ArgumentParser
import SealedStore
import SecurityKeys
import SessionTools

/// Options that name the key of a store, at most one of which may be given.
protocol KeyChoice: ParsableArguments {
  /// The owner of the key, for messages; empty if there is only one store.
  static var owner: String { get }

  var keyFile: String? { get }
  var passphraseFile: String? { get }
  var passphraseDescriptor: Int32? { get }
  var passphrase: Bool { get }
  var credential: String? { get }
  var serviceKey: SecretServiceKey? { get }
  var securityKey: Bool { get }
  var recipientKey: String? { get }
  var expected: StoreFingerprint? { get }
}

extension KeyChoice {
  var securityKey: Bool { false }

  /// The options that name the key of the only store, as they are typed.
  var words: [String] {
    let named: [(String, String?)] = [
      ("--key-file", keyFile), ("--passphrase-file", passphraseFile),
      ("--passphrase-fd", passphraseDescriptor.map(String.init)), ("--credential", credential),
      ("--key", serviceKey?.reference), ("--recipient-key", recipientKey),
      ("--expect", expected?.description),
    ]
    return named.flatMap { name, value in value.map { [name, $0] } ?? [] }
      + (passphrase ? ["--passphrase"] : []) + (securityKey ? ["--security-key"] : [])
  }

  /// Returns a command for a store, with the key that was given.
  func command(_ name: String, _ store: String) -> String {
    (["session-tools", name, store] + words).asTyped
  }

  /// The key that was given, if any.
  var argument: KeyArgument? { arguments.first }

  private var arguments: [KeyArgument] {
    [
      keyFile.map(KeyArgument.keyFile), passphraseFile.map(KeyArgument.passphraseFile),
      passphraseDescriptor.map(KeyArgument.passphraseDescriptor),
      passphrase ? .passphrasePrompt : nil, credential.map(KeyArgument.credential),
      serviceKey.map(KeyArgument.secretService),
      recipientKey.map { .recipientKey($0, expecting: expected) },
      securityKey ? .securityKey(.required, label: "") : nil,
    ].compactMap(\.self)
  }

  func validate() throws {
    guard arguments.count <= 1 else {
      throw ValidationError("Give \(Self.owner)one key or passphrase, not several.")
    }
    guard expected == nil || recipientKey != nil else {
      throw ValidationError(
        "Give a fingerprint with a recipient's key only; any other key proves by itself that its "
          + "owner made the store.")
    }
  }
}

extension [String] {
  /// The words of a command line as a person types them, with quotes where the shell needs them;
  /// the names of options need none.
  var asTyped: String {
    map { word in
      let isOption =
        word.hasPrefix("--")
        && word.utf8.allSatisfy { $0 == UInt8(ascii: "-") || $0 &- UInt8(ascii: "a") < 26 }
      return isOption ? word : word.shellQuoted
    }.joined(separator: " ")
  }
}
