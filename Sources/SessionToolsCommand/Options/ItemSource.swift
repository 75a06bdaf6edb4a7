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
  /// The file that Python's keyring keeps where there is no Secret Service.
  case keyringFile(path: String)
  /// A file with items in plain text; `-` is standard input.
  case document(DocumentFormat, path: String)

  private static let dialects = ForeignSecretServiceItems.Dialect.all.map { "\($0.name):" }

  private static let documents = DocumentFormat.allCases.map { "\($0.rawValue):" }

  static let help =
    "The source: a store, as for other commands; the items of another program in the Secret "
    + "Service, \(dialects.joined(separator: " ")), with a collection after the colon if it is "
    + "not the default one; libsecret-file:, or libsecret-file:FILE, with its password; pass:, or "
    + "pass:DIRECTORY; keyring-file:, or keyring-file:FILE, of Python's keyring; a file in "
    + "plain text, \(documents.joined(separator: " ")), after the colon, or - for standard input. "
    + "aws-credentials:, netrc: and gh-hosts: alone are where those programs keep it."

  /// The kinds of sources with a path, by what their identities begin with.
  static let kindsByIdentity = [
    "pass ": "pass:", "libsecret file ": "libsecret-file:",
  ]

  /// All kinds of sources, as they are written.
  static let kinds =
    StoreLocation.kinds + dialects + ["libsecret-file:", "pass:", "keyring-file:"] + documents

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
      self = .libsecretFile(path: try rest.isEmpty ? LibsecretFile.standardPath : rest)
    case "pass":
      self = .passwordStore(path: try rest.isEmpty ? PasswordStore.standardPath : rest)
    case "keyring-file":
      self = .keyringFile(path: try rest.isEmpty ? KeyringFile.standardPath : rest)
    default:
      guard let format = DocumentFormat(rawValue: String(kind)) else {
        self = .store(try StoreLocation(argument, kinds: Self.kinds))
        return
      }
      guard let path = try rest.isEmpty ? format.standardPath : rest else {
        throw ValidationError("Write \(kind):FILE, or \(kind):-.")
      }
      self = .document(format, path: path)
    }
  }

  /// Whether the source is standard input.
  var takesInput: Bool {
    if case .document(_, path: "-") = self { true } else { false }
  }

  /// Opens the source.
  ///
  /// - Parameters:
  ///   - key: The key of a sealed store, or the password of libsecret's file.
  ///   - database: How to get to a store in a database.
  ///   - optionStart: What the names of the source's options begin with.
  ///   - interaction: Whether a person may be asked.
  ///   - timeout: How long to wait for another process that writes, or for the Secret Service.
  /// - Returns: The items to migrate, as a store.
  /// - Throws: As opening a store does, and a usage failure for a key that the source does not
  ///   take.
  func open(
    _ key: KeyArgument?, _ database: DatabaseConnection, optionStart: String,
    _ interaction: InteractionOptions, timeout: Duration
  ) throws -> MigratedStore {
    switch self {
    case .store(let location):
      if case .sealed(let path) = location { try Self.check(path, is: .store) }
      let opener = StoreOpener(
        location: location, key: key, database: database, optionStart: optionStart,
        interaction: interaction, timeout: timeout)
      return try opener.openForMigration()
    case .libsecretFile(let path):
      guard key?.isPassphrase ?? true else {
        throw Failure(.usage, "\(path): it opens with a password; give it as a passphrase")
      }
      try Self.check(path, is: .libsecretFile)
      let prompt = PassphrasePrompt(path: path, interaction: interaction)
      let password = try (key ?? .passphrasePrompt).readPassphrase { try prompt.ask() }
      return MigratedStore(store: try Self.libsecretItems(path, password))
    case _ where key != nil:
      throw Failure(.usage, "this source takes no key; give none")
    case _ where !database.words.isEmpty:
      throw Failure(.usage, "\(database.words[0]) is for a store in a database; leave it out")
    case .foreign(let dialect, let collection):
      if dialect.name == "python-keyring" { Self.sayWhereElseKeyringKeepsItems() }
      var options = SecretServiceStore.Options()
      options.timeout = timeout
      let service = SecretServiceStore(collection: collection, options: options)
      return MigratedStore(
        store: ForeignSecretServiceItems(dialect, service)
      ) { () throws(StoreError) in
        try service.otherItems(than: dialect.name)
      }
    case .passwordStore(let path): return MigratedStore(store: PasswordStore.items(at: path))
    case .keyringFile(let path): return MigratedStore(store: try Self.keyringFile(path))
    case .document(let format, let path): return MigratedStore(store: try format.items(path))
    }
  }

  /// Checks that a file is not of a kind that another source reads.
  ///
  /// Opening it reports one that is not there or cannot be read.
  private static func check(_ path: String, is kind: DocumentKind) throws {
    let file = URL(filePath: path).resolvingSymlinksInPath()
    guard FileManager.default.isReadableFile(atPath: path),
      try file.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true
    else { return }
    let content = try Files.read(path, atMost: DocumentFormat.maximumByteCount)
    try DocumentKind(of: content.copyBytes()).check(is: kind, name: path)
  }

  private static func libsecretItems(
    _ path: String, _ password: SecretBytes
  ) throws -> any MigratableStore {
    var items: [ItemName: SecretBytes] = [:]
    var omissions: [Omission] = []
    for (number, item) in try LibsecretFile.items(at: path, password: password).enumerated() {
      // libsecret's file has no labels.
      func leaveOut(_ reason: String) {
        let names = item.attributes.keys.sorted().joined(separator: ", ")
        omissions.append(
          Omission(
            "item \(number + 1)", part: names.isEmpty ? nil : "attributes \(names)",
            reason: "\(reason); copy it by hand from the program that made it"))
      }
      do throws(StoreError) {
        guard let name = try ForeignSecretServiceItems.Dialect.itemName(of: item.attributes) else {
          leaveOut("it has no attributes to name it by")
          continue
        }
        if let other = items[name], other != item.secret {
          leaveOut("an earlier item is \(name) too")
        } else {
          items[name] = item.secret
        }
      } catch {
        leaveOut(error.reason)
      }
    }
    // Without links, because a later command may name it from another directory.
    return ReadOnlyItems(
      name: "libsecret file \(path.withoutLinks)",
      protection: "libsecret's file, encrypted with a password", atRest: .passphrase, items: items,
      omissions: omissions)
  }

  private static func keyringFile(_ path: String) throws -> any MigratableStore {
    if !Files.exists(path), path == (try? KeyringFile.standardPath) {
      let encrypted = try KeyringFile.encryptedPath
      if Files.exists(encrypted) { throw KeyringFile.encrypted(encrypted) }
    }
    return try KeyringFile.items(
      Files.read(path, atMost: DocumentFormat.maximumByteCount), name: path)
  }

  /// Mentions the files of Python's keyring, which has no other place on a machine without a
  /// desktop.
  private static func sayWhereElseKeyringKeepsItems() {
    // Without a home directory, keyring has no such file either.
    let paths = [try? KeyringFile.standardPath, try? KeyringFile.encryptedPath]
    guard let path = paths.compactMap(\.self).first(where: Files.exists) else { return }
    StandardError.say(
      "session-tools: python-keyring: is what keyring keeps in the Secret Service; for its file "
        + "\(path), give keyring-file:\(path.shellQuoted)")
  }
}

extension StoreOpener {
  /// Opens a store of any kind, and keeps the key of a sealed one for the migration's journal.
  ///
  /// - Throws: As ``openItems()``.
  func openForMigration() throws -> MigratedStore {
    if case .secretService = location {
      let store = try openItems().store
      return MigratedStore(store: store, location: location) { () throws(StoreError) in
        try (store as? SecretServiceStore)?.otherItems(than: "secret-service") ?? []
      }
    }
    let (open, key) = try open(place())
    return MigratedStore(store: open.store, location: location, key: key)
  }
}
