import ArgumentParser
import SealedStore
import SessionTools
import SessionToolsBase

/// A key for a new slot, either existing or made for it.
struct NewKey {
  let maker: any SlotMaker
  /// The file the key is in, if it is in one.
  let place: String?
  /// The length below which a passphrase is remarked on.
  private static let fewestCharacters = 8

  /// Whether the file was made here.
  let isMade: Bool

  /// Takes the public key of a recipient.
  init(_ recipient: Recipient) {
    maker = recipient
    place = nil
    isMade = false
  }

  /// Takes or makes the key that an argument names.
  ///
  /// - Parameters:
  ///   - argument: A key file, or a key in the Secret Service, is made if it does not exist.
  ///   - cost: The cost of guessing a passphrase.
  ///   - prompt: Asks for a passphrase.
  ///   - directory: The store's own directory, if it is in one.
  /// - Throws: As the makers, and a usage failure for a key file inside the store.
  init(
    _ argument: KeyArgument, cost: Passphrase.Cost, _ prompt: PassphrasePrompt,
    outside directory: String?
  ) throws {
    var isMade = false
    switch argument {
    case .keyFile(let path):
      if let directory, Files.isPath(path, in: directory) {
        throw Failure(
          .usage, "\(path) is in the store's own directory, where a key protects nothing")
      }
      isMade = !Files.exists(path)
      maker = isMade ? try KeyFile.create(at: path) : KeyFile(path)
      place = path
    case .mountedKeyFile(let path):
      maker = KeyArgument.mounted(path)
      place = path
    case .credential(let name):
      maker = SystemdCredential(name)
      place = nil
    case .secretService(let key):
      try SharedLibrary.secret.check()
      maker = key.makingIfAbsent
      place = nil
    case .securityKey(let verification, let label):
      try SharedLibrary.fido2.check()
      maker = PluggedInKey(prompt, verification: verification, label: label)
      place = nil
    case .recipientKey(let path, _):
      maker = RecipientKey(path)
      place = path
    case .passphraseFile, .passphraseDescriptor, .passphrasePrompt:
      let bytes = try argument.readPassphrase { try prompt.askForNew() }
      if 1..<Self.fewestCharacters ~= bytes.characterCount {
        StandardError.complain(
          "the passphrase has fewer than \(Self.fewestCharacters) characters: "
            + "anyone with a copy of \(prompt.path) can find it by trying")
      }
      maker = try Passphrase(utf8: bytes, cost: cost)
      place = nil
    }
    self.isMade = isMade
  }

  /// Runs an operation that gives the key its slot, and removes a file made for it if that fails.
  ///
  /// The file stays if the store may open with the key: a change that failed may still have been
  /// made.
  ///
  /// - Parameters:
  ///   - store: The store.
  ///   - operation: The operation.
  /// - Returns: What the operation returns.
  /// - Throws: What the operation throws.
  func using<Result>(
    on store: SealedPlace, _ operation: () throws -> Result
  ) throws -> Result {
    do {
      return try operation()
    } catch {
      if isMade, let place {
        if store.mayOpen(with: KeyFile(place)) {
          StandardError.say("\(place) was kept: \(store.name) may need it")
        } else {
          Files.remove(place)
        }
      }
      throw error
    }
  }
}
