/// What gpg reported in the lines of `--status-fd`, which GnuPG's `doc/DETAILS` describes.
///
/// gpg's other messages are for people, and in their language.
struct GPGStatus {
  /// The keys that the file is encrypted for, as 16 hexadecimal digits; zeros for a hidden one.
  private(set) var recipients: [String] = []
  /// Those of them whose secret keys gpg does not have; since version 2.4 also those that it has,
  /// if they did not open the file.
  private(set) var missingKeys: Set<String> = []
  /// Whether the content is complete and unchanged, or was not encrypted at all.
  private(set) var isComplete = false
  /// Whether a key opened the file.
  private(set) var foundKey = false
  /// Whether the agent started its program that asks for passphrases.
  private(set) var startedPinentry = false
  /// Whether gpg itself wanted to ask for the passphrase of a key.
  private(set) var neededPassphrase = false
  /// Whether a passphrase of the file itself opens it.
  private(set) var takesPassphrase = false
  /// Whether something in the file is not OpenPGP.
  private(set) var hasNoData = false
  /// Whether gpg does not take its options.
  private(set) var refusedOptions = false
  /// Whether gpg cannot read a file of public keys.
  private(set) var lacksKeyring = false
  /// Why secret keys were of no use.
  private(set) var keyErrors: [GPGError] = []

  /// The keys that the file is encrypted for, and that gpg has.
  var usableKeys: Set<String> { Set(recipients).subtracting(missingKeys) }

  /// Takes back that keys are missing which gpg lists.
  mutating func correct(by listed: Set<String>) {
    missingKeys.subtract(listed)
  }

  /// Reads the lines; those of other programs and unknown ones are ignored.
  init(_ report: String) {
    var wasDecrypted = false
    var hasText = false
    for line in report.split(separator: "\n") {
      let words = line.split(separator: " ").map(String.init)
      guard words.count > 1, words[0] == "[GNUPG:]" else { continue }
      let first = words.count > 2 ? words[2] : ""
      switch words[1] {
      case "ENC_TO": recipients.append(first)
      case "NO_SECKEY": missingKeys.insert(first)
      case "BEGIN_DECRYPTION": wasDecrypted = true
      case "PLAINTEXT": hasText = true
      case "DECRYPTION_OKAY": isComplete = true
      case "DECRYPTION_KEY": foundKey = true
      case "PINENTRY_LAUNCHED": startedPinentry = true
      case "NEED_PASSPHRASE": neededPassphrase = true
      case "NEED_PASSPHRASE_SYM": takesPassphrase = true
      case "NODATA": hasNoData = true
      case "FAILURE" where first == "option-parser": refusedOptions = true
      case "ERROR" where first == "add_keyblock_resource": lacksKeyring = true
      case "ERROR" where first == "pkdecrypt_failed":
        if words.count > 3, let number = UInt32(words[3]) {
          keyErrors.append(GPGError(number: number))
        }
      default: break
      }
    }
    if !wasDecrypted, hasText { isComplete = true }
  }
}

/// An error number of libgpg-error: where it comes from, and what it is.
struct GPGError: Equatable {
  private let source: UInt32
  private let code: UInt32

  init(number: UInt32) {
    (source, code) = (number >> 24 & 0x7F, number & 0xFFFF)
  }

  /// Whether a person dismissed the question for the passphrase, or the agent may not ask it.
  var isCancellation: Bool { [99, 114, 198, 277].contains(code) }
  /// Whether the passphrase was wrong.
  var isWrongPassphrase: Bool { code == 11 || code == 87 }
  /// Whether the passphrase could not be asked for: there is no program for it, or no terminal, or
  /// no answer in time.
  var isFailedQuestion: Bool { source == 5 || code == 62 || code == 86 || lacksPinentry }
  /// Whether there is no program that asks for passphrases.
  var lacksPinentry: Bool { code == 85 }
  /// Whether the agent, the smart card of the key or its reader failed, or the card takes no more
  /// guesses.
  var isFailedService: Bool {
    [54, 77, 78, 91, 105, 119, 120, 123, 130, 132].contains(code) || (108...112).contains(code)
      || (257...281).contains(code)
  }
}
