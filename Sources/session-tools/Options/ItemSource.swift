import ArgumentParser
import Foundation
import SealedStore
import SecretServiceStore
import SessionToolsBase
import StoreMigration

/// The source of a migration: a store, or the items of another program.
enum ItemSource {
  case store(StoreLocation)
  /// Items of another program in the Secret Service.
  case foreign(ForeignSecretServiceItems.Dialect, SecretServiceStore.Collection)
  /// The file that libsecret keeps in a sandbox.
  case libsecretFile(path: String)
  /// A directory of `pass`.
  case passwordStore(path: String)
  /// A file of JSON Lines; `-` is standard input.
  case jsonLines(path: String)

  private static let dialects = ForeignSecretServiceItems.Dialect.all.map { "\($0.name):" }

  static let help =
    "The source: a store, as for other commands; the items of another program in the Secret "
    + "Service, \(dialects.joined(separator: " ")), with a collection after the colon if it is "
    + "not the default one; libsecret-file:, or libsecret-file:FILE, with its password; pass:, or "
    + "pass:DIRECTORY; jsonl:FILE, or jsonl:- for standard input."

  /// Reads a source from an argument.
  ///
  /// - Throws: `ValidationError` for an unknown kind or an empty path.
  init(_ argument: String) throws {
    let kind = argument.prefix { $0 != ":" }
    guard kind.endIndex < argument.endIndex else {
      self = .store(try StoreLocation(argument))
      return
    }
    let rest = String(argument[argument.index(after: kind.endIndex)...])
    if let dialect = ForeignSecretServiceItems.Dialect.all.first(where: { $0.name == kind }) {
      self = .foreign(dialect, rest.isEmpty ? .default : .named(rest))
      return
    }
    switch kind {
    case "libsecret-file":
      self = .libsecretFile(path: rest.isEmpty ? LibsecretFile.standardPath : rest)
    case "pass":
      self = .passwordStore(path: rest.isEmpty ? PasswordStore.standardPath : rest)
    case "jsonl":
      guard !rest.isEmpty else { throw ValidationError("Write jsonl:FILE, or jsonl:-.") }
      self = .jsonLines(path: rest)
    default: self = .store(try StoreLocation(argument))
    }
  }

  /// The location of the source, if it is a store of this library.
  var location: StoreLocation? {
    if case .store(let location) = self { location } else { nil }
  }

  /// Whether the source is standard input.
  var takesInput: Bool {
    if case .jsonLines("-") = self { true } else { false }
  }

  /// Opens the source.
  ///
  /// - Parameters:
  ///   - key: The key of a sealed store, or the password of libsecret's file.
  ///   - interaction: Whether a person may be asked.
  ///   - timeout: How long to wait for another process that writes, or for the Secret Service.
  /// - Returns: The items to migrate, as a store.
  /// - Throws: As opening a store does, and a usage failure for a key that the source does not
  ///   take.
  func open(
    _ key: KeyArgument?, _ interaction: InteractionOptions, timeout: Duration
  ) throws -> MigratedStore {
    switch self {
    case .store(let location):
      let opener = StoreOpener(
        location: location, key: key, interaction: interaction, timeout: timeout)
      return try opener.openForMigration()
    case .libsecretFile(let path):
      guard key?.isPassphrase ?? true else {
        throw Failure(.usage, "\(path): it opens with a password; give it as a passphrase")
      }
      let prompt = PassphrasePrompt(path: path, interaction: interaction)
      let password = try (key ?? .passphrasePrompt).readPassphrase { try prompt.ask() }
      return MigratedStore(store: try Self.libsecretItems(path, password))
    case _ where key != nil:
      throw Failure(.usage, "this source takes no key; give none")
    case .foreign(let dialect, let collection):
      var options = SecretServiceStore.Options()
      options.timeout = timeout
      return MigratedStore(
        store: ForeignSecretServiceItems(dialect, collection: collection, options: options))
    case .passwordStore(let path): return MigratedStore(store: PasswordStore.items(at: path))
    case .jsonLines(let path): return MigratedStore(store: try Self.jsonLines(path))
    }
  }

  private static func libsecretItems(
    _ path: String, _ password: SecretBytes
  ) throws -> any MigratableStore {
    var items: [StoreKey: SecretBytes] = [:]
    var damage: StoreError?
    for item in try LibsecretFile.items(at: path, password: password) {
      do throws(StoreError) {
        guard let key = try ForeignSecretServiceItems.Dialect.key(of: item.attributes) else {
          throw StoreError(
            .invalidName, store: path, reason: "an item has no attributes to name it by")
        }
        if items.updateValue(item.secret, forKey: key) != nil {
          throw StoreError.sameName(key, store: path)
        }
      } catch {
        damage = error
      }
    }
    return ReadOnlyItems(
      name: "libsecret file \(path)", protection: "libsecret's file, encrypted with a password",
      atRest: .passphrase
    ) { [items, damage] in
      StoreListing(keys: items.keys.sorted(), damage: damage)
    } read: { [items] key in
      items[key]
    }
  }

  private static func jsonLines(_ path: String) throws -> any MigratableStore {
    if path == "-" {
      return try PlainItems.items(
        StandardInput.readValue(atMost: largestByteCount), name: "standard input")
    }
    guard Files.exists(path) else { throw Failure(.unavailable, "\(path): there is no such file") }
    guard let data = FileManager.default.contents(atPath: path) else {
      throw Failure(.failure, "\(path): the file cannot be read")
    }
    return try PlainItems.items(SecretBytes(data), name: path)
  }

  /// The most that is read from standard input, because all of it is in memory at the same time.
  private static let largestByteCount = 1 << 30
}

extension StoreOpener {
  /// Opens a store of any kind, and keeps the key of a sealed one for the migration's journal.
  ///
  /// - Throws: As ``openItems()``.
  func openForMigration() throws -> MigratedStore {
    guard case .sealed = location else {
      return MigratedStore(store: try openItems().store, location: location)
    }
    let (open, key) = try openKeepingKey()
    return MigratedStore(store: open.store, location: location, key: key)
  }
}

/// A store that items are migrated from or to.
struct MigratedStore {
  let store: any MigratableStore
  /// The location, if it is a store of this library.
  var location: StoreLocation?
  /// The key that opened it, if it is a sealed store.
  var key: (any KeySource)?
}
