import ArgumentParser
import SealedStore
import SessionTools
import SessionToolsBase

/// A key for a new slot, either existing or made for it.
struct NewKey {
  let source: any KeySource
  /// The file the key is in, if it is in one.
  let place: String?
  /// The length below which a passphrase is remarked on.
  private static let fewestCharacters = 8

  /// Whether the file was made here.
  let isMade: Bool

  /// Takes or makes the key that an argument names.
  ///
  /// - Parameters:
  ///   - argument: A key file, or a key in the Secret Service, is made if it does not exist.
  ///   - cost: The cost of guessing a passphrase.
  ///   - prompt: Asks for a passphrase.
  /// - Throws: As the key sources, and a usage failure for a key file inside the store.
  init(
    _ argument: KeyArgument, cost: Passphrase.Cost, _ prompt: PassphrasePrompt
  ) throws {
    var isMade = false
    switch argument {
    case .keyFile(let path):
      guard !Files.isPath(path, in: prompt.path) else {
        throw Failure(
          .usage, "\(path) is in the store's own directory, where a key protects nothing")
      }
      isMade = !Files.exists(path)
      source = isMade ? try KeyFile.create(at: path) : KeyFile(path)
      place = path
    case .credential(let name):
      source = SystemdCredential(name)
      place = nil
    case .secretService(let key):
      try SharedLibrary.secret.check()
      source = key.makingIfAbsent
      place = nil
    case .passphraseFile, .passphraseDescriptor, .passphrasePrompt:
      let bytes = try argument.readPassphrase { try prompt.askForNew() }
      if 1..<Self.fewestCharacters ~= bytes.characterCount {
        StandardError.say(
          "session-tools: the passphrase has fewer than \(Self.fewestCharacters) characters: "
            + "anyone with a copy of \(prompt.path) can find it by trying")
      }
      source = try Passphrase(utf8: bytes, cost: cost)
      place = nil
    }
    self.isMade = isMade
  }

  /// Runs an operation that gives the key its slot, and removes a file made for it if that fails.
  ///
  /// The file stays if the store may open with the key: a change that failed may still have been
  /// made.
  func using<Result>(on path: String, _ operation: () throws -> Result) throws -> Result {
    do {
      return try operation()
    } catch {
      if isMade, let place { Self.remove(place, unlessItOpens: path) }
      throw error
    }
  }

  /// Removes a key file that certainly opens nothing; otherwise reports that it was kept.
  static func remove(_ keyFile: String, unlessItOpens path: String) {
    do throws(StoreError) {
      _ = try SealedFileStore.open(at: path, key: KeyFile(keyFile))
    } catch let error where [StoreError.wrongKey, StoreError.unavailable].contains(error.code) {
      return Files.remove(keyFile)
    } catch {}
    StandardError.say("\(keyFile) was kept: \(path) may need it")
  }
}
