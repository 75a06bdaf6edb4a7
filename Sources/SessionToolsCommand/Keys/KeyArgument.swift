import ArgumentParser
import Foundation
import SealedStore
import SecurityKeys
import SessionTools
import SessionToolsBase

/// A key or passphrase as it is named on the command line.
enum KeyArgument {
  case keyFile(String)
  case mountedKeyFile(String)
  case passphraseFile(String)
  case passphraseDescriptor(Int32)
  case passphrasePrompt
  case credential(String)
  case secretService(SecretServiceKey)
  /// The security key that is plugged in; what a new slot needs, and its label.
  case securityKey(SecurityKey.Verification, label: String)
  /// A recipient's secret key, and the fingerprint of the store that it is to open.
  case recipientKey(String, expecting: StoreFingerprint?)

  var isPassphrase: Bool {
    switch self {
    case .passphraseFile, .passphraseDescriptor, .passphrasePrompt: true
    case .keyFile, .mountedKeyFile, .credential, .secretService, .securityKey, .recipientKey: false
    }
  }

  /// Reads `secret-service:NAME` or `secret-service:COLLECTION/NAME`.
  ///
  /// - Throws: `ValidationError` for anything else.
  static func serviceKey(_ argument: String) throws -> SecretServiceKey {
    guard let key = SecretServiceKey(reference: argument) else {
      throw ValidationError(
        "'\(argument)' is not a key in the Secret Service. Write secret-service:NAME, or "
          + "secret-service:COLLECTION/NAME; in both, % is %25 and / is %2F.")
    }
    return key
  }

  /// Reads the text of a recipient's public key.
  ///
  /// - Throws: `ValidationError` for anything else.
  static func publicKey(_ argument: String) throws -> Recipient {
    do throws(StoreError) {
      return try Recipient(argument)
    } catch {
      throw ValidationError(
        "\(error.reason). \(error.remedy.map { "\($0)." } ?? "")")
    }
  }

  /// Reads the text of a store's fingerprint.
  ///
  /// - Throws: `ValidationError` for anything else.
  static func fingerprint(_ argument: String) throws -> StoreFingerprint {
    do throws(StoreError) {
      return try StoreFingerprint(argument)
    } catch {
      throw ValidationError("\(error.reason). \(error.remedy.map { "\($0)." } ?? "")")
    }
  }

  /// Returns an existing key, to open a store with, or to keep in a revocation.
  ///
  /// - Throws: An error if a passphrase cannot be read.
  func choose(_ prompt: PassphrasePrompt) throws -> ChosenKey {
    switch self {
    case .keyFile(let path):
      return ChosenKey(KeyFile(path), name: "the key file \(path)", place: path)
    case .mountedKeyFile(let path):
      return ChosenKey(Self.mounted(path), name: "the mounted key file \(path)", place: path)
    case .credential(let name):
      return ChosenKey(
        SystemdCredential(name), name: "the systemd credential \(name)", place: nil)
    case .secretService(let key):
      return ChosenKey(key, name: "the key \(key.reference)", place: nil)
    case .securityKey(let verification, let label):
      try SharedLibrary.fido2.check()
      return ChosenKey(
        PluggedInKey(prompt, verification: verification, label: label), name: "the security key",
        place: nil)
    case .recipientKey(let path, let expected):
      let key = KnownStoreKey(RecipientKey(path), expecting: expected, prompt)
      return ChosenKey(key, name: "the recipient's key \(path)", place: path)
    case .passphraseFile, .passphraseDescriptor, .passphrasePrompt:
      let passphrase = try Passphrase(utf8: try readPassphrase { try prompt.ask() })
      return ChosenKey(passphrase, name: "the passphrase", place: nil)
    }
  }

  /// Returns a key that was mounted by those who run the container and decide who may read it.
  static func mounted(_ path: String) -> MountedKeyFile {
    MountedKeyFile(path, readers: .everyone)
  }

  /// Returns the passphrase's bytes.
  ///
  /// - Throws: An error if the passphrase cannot be read.
  func readPassphrase(_ ask: () throws -> SecretBytes) throws -> SecretBytes {
    switch self {
    case .passphraseFile(let path): try PassphraseReader.read(file: path)
    case .passphraseDescriptor(let number): try PassphraseReader.read(descriptor: number)
    default: try ask()
    }
  }

  /// The descriptor that the passphrase is read from, if any.
  private var descriptor: Int32? {
    switch self {
    case .passphraseDescriptor(let number): number
    case .passphraseFile(let path): PassphraseReader.descriptor(in: path)
    default: nil
    }
  }

  /// Keeps the descriptor that the passphrase was read from away from a program that takes the
  /// place of this one: if it is a file, the passphrase could be read there again.
  func closeOnExecution() {
    // Standard input is the program's as well.
    guard let descriptor, descriptor > STDERR_FILENO else { return }
    System.closeOnExecution(descriptor)
  }

  /// Refuses to read one descriptor twice: the second time there is nothing left in it.
  static func checkDescriptors(_ arguments: [KeyArgument?], isInputTaken: Bool = false)
    throws
  {
    var taken: Set<Int32> = isInputTaken ? [STDIN_FILENO] : []
    for case let number? in arguments.map({ $0?.descriptor }) {
      guard taken.insert(number).inserted else {
        throw ValidationError(
          number == STDIN_FILENO && isInputTaken
            ? "Standard input is for the value; give the passphrase another way."
            : "File descriptor \(number) can be read only once.")
      }
    }
  }
}

/// A key source, and its description.
struct ChosenKey {
  let source: any KeySource
  /// The key in words: "the key file /x".
  let name: String
  /// The file it is in, if it is in one.
  let place: String?

  init(_ source: any KeySource, name: String, place: String?) {
    self.source = source
    self.name = name
    self.place = place
  }
}
