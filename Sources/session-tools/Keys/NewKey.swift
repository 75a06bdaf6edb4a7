import ArgumentParser
import SealedStore
import SessionTools
import SessionToolsBase

/// A key for a new slot, made for it or brought along.
struct NewKey {
  let source: any KeySource
  /// The key's file, if it is in one.
  let place: String?
  /// Whether the file was made here.
  private let isMade: Bool

  /// Takes or makes what an argument names.
  ///
  /// - Parameters:
  ///   - argument: A key file, or a key in the Secret Service, is made when there is none.
  ///   - cost: What a passphrase costs to guess at.
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
      source = key.makingIfAbsent
      place = nil
    case .passphraseFile, .passphraseDescriptor, .passphrasePrompt:
      let bytes = try argument.readPassphrase { try prompt.askForNew() }
      source = try Passphrase(utf8: bytes, cost: cost)
      place = nil
    }
    self.isMade = isMade
  }

  /// Runs what gives the key its slot, and removes a file made for it if that came to nothing.
  ///
  /// As long as the store may open with the key, the file stays: a change that failed may have
  /// been made all the same.
  func using<Result>(on path: String, _ operation: () throws -> Result) throws -> Result {
    do {
      return try operation()
    } catch {
      if isMade, let place { Self.remove(place, unlessItOpens: path) }
      throw error
    }
  }

  /// Removes a key file that certainly opens nothing, and names one that stays.
  static func remove(_ keyFile: String, unlessItOpens path: String) {
    do throws(StoreError) {
      _ = try SealedFileStore.open(at: path, key: KeyFile(keyFile))
    } catch let error where [StoreError.wrongKey, StoreError.unavailable].contains(error.code) {
      return Files.remove(keyFile)
    } catch {}
    StandardError.say("\(keyFile) was kept: \(path) may need it")
  }
}
