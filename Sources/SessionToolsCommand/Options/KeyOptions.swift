import ArgumentParser
import SealedStore
import SecurityKeys
import SessionTools

/// One of the stores that a command uses.
protocol StoreSide {
  /// The name in help and messages.
  static var name: String { get }
  /// The prefix of the names of its options; empty for the only store.
  static var prefix: String { get }
}

extension StoreSide {
  /// What the names of its options begin with.
  static var optionStart: String { prefix.isEmpty ? "--" : "--\(prefix)-" }

  /// Returns the name of an option, without the dashes before it.
  static func option(_ name: String) -> String { "\(optionStart.dropFirst(2))\(name)" }
}

/// The only store of a command.
enum OnlyStore: StoreSide {
  static let name = "store"
  static let prefix = ""
}

/// The store that items are migrated from.
enum SourceSide: StoreSide {
  static let name = "source"
  static let prefix = "from"
}

/// The store that items are migrated to.
enum TargetSide: StoreSide {
  static let name = "target"
  static let prefix = "to"
}

/// The key of one of a command's stores, or of its first key slot: at most one may be given.
struct KeyOptions<Side: StoreSide>: ParsableArguments {
  @Option(
    name: .customLong(Side.option("key-file")),
    help: ArgumentHelp("A file of 32 bytes, mode 0600.", valueName: "file"),
    completion: .file())
  var keyFile: String?

  @Option(
    name: .customLong(Side.option("mounted-key-file")),
    help: ArgumentHelp(
      "A key file that root mounted, as Kubernetes and Docker do with secrets: 32 bytes or their "
        + "Base64.", valueName: "file"), completion: .file())
  var mountedKeyFile: String?

  @Option(
    name: .customLong(Side.option("passphrase-file")),
    help: ArgumentHelp(
      "A file with a passphrase, mode 0600; one newline at its end is ignored.",
      valueName: "file"), completion: .file())
  var passphraseFile: String?

  @Option(
    name: .customLong(Side.option("passphrase-fd")),
    help: ArgumentHelp(
      "A file descriptor to read a passphrase from, to its end.", valueName: "number"))
  var passphraseDescriptor: Int32?

  @Flag(
    name: .customLong(Side.option("passphrase")), help: "Ask for a passphrase on the terminal.")
  var passphrase = false

  @Option(
    name: .customLong(Side.option("credential")),
    help: ArgumentHelp(
      "A systemd credential of 32 bytes ($CREDENTIALS_DIRECTORY).", valueName: "name"))
  var credential: String?

  @Option(
    name: .customLong(Side.option("key")),
    help: ArgumentHelp(
      "A key in the Secret Service, the desktop's keyring.", valueName: "secret-service:name"),
    transform: KeyArgument.serviceKey)
  var serviceKey: SecretServiceKey?

  @Flag(
    name: .customLong(Side.option("security-key")),
    help: "The security key (FIDO2) that is plugged in.")
  var securityKey = false

  @Option(
    name: .customLong(Side.option("recipient-key")),
    help: ArgumentHelp(
      "A recipient's secret key, as recipient create makes it.", valueName: "file"),
    completion: .file())
  var recipientKey: String?

  @Option(
    name: .customLong(Side.option("expect")),
    help: ArgumentHelp(
      "With \(Side.optionStart)recipient-key: the fingerprint of the store, if it is not known "
        + "here.",
      valueName: "fingerprint"), transform: KeyArgument.fingerprint)
  var expected: StoreFingerprint?

  /// The options that name the key, as they are typed.
  var words: [String] {
    let named: [(String, String?)] = [
      ("key-file", keyFile), ("mounted-key-file", mountedKeyFile),
      ("passphrase-file", passphraseFile),
      ("passphrase-fd", passphraseDescriptor.map(String.init)), ("credential", credential),
      ("key", serviceKey?.reference), ("recipient-key", recipientKey),
      ("expect", expected?.description),
    ]
    let flags = [passphrase ? "passphrase" : nil, securityKey ? "security-key" : nil]
    return named.flatMap { name, value in value.map { [Side.optionStart + name, $0] } ?? [] }
      + flags.compactMap(\.self).map { Side.optionStart + $0 }
  }

  /// Returns a command for a store, with the key that was given.
  func command(_ name: String, _ store: String) -> String {
    (["session-tools", name, store] + words).asTyped
  }

  /// The key that was given, if any.
  var argument: KeyArgument? { arguments.first }

  private var arguments: [KeyArgument] {
    [
      keyFile.map(KeyArgument.keyFile), mountedKeyFile.map(KeyArgument.mountedKeyFile),
      passphraseFile.map(KeyArgument.passphraseFile),
      passphraseDescriptor.map(KeyArgument.passphraseDescriptor),
      passphrase ? .passphrasePrompt : nil, credential.map(KeyArgument.credential),
      serviceKey.map(KeyArgument.secretService),
      recipientKey.map { .recipientKey($0, expecting: expected) },
      securityKey ? .securityKey(.required, label: "") : nil,
    ].compactMap(\.self)
  }

  func validate() throws {
    guard arguments.count <= 1 else {
      throw ValidationError(
        "Give \(Side.prefix.isEmpty ? "" : "the \(Side.name) ")one key or passphrase, not several.")
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
