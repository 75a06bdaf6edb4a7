import Glibc
import SecretStores

/// The walk through a directory of `pass`, which sorts what is in it: entries, files of `pass`
/// itself, and what no migration copies.
///
/// Links to directories are followed, as `pass` does to list and to find entries.
struct PasswordStoreListing {
  /// How many files of others are listed while there is no entry: a home directory has millions.
  private static let maximumForeignCount = 10_000

  private let root: String
  private var names: [ItemName] = []
  private var omissions: [Omission] = []
  private var clues = PasswordStoreClues()

  /// Lists a directory.
  ///
  /// - Throws: As ``PasswordStore/items(at:)`` says of listing.
  static func list(_ path: String) throws(StoreError) -> StoreListing {
    let content: DirectoryContent
    do throws(SystemCallError) {
      content = try DirectoryContent(path: path)
    } catch let error where [ENOENT, ENOTDIR].contains(error.errno) {
      throw StoreError(
        .unavailable, store: path, reason: "there is no pass directory here",
        remedy: GopassStores.remedyForMissingStore, errno: error.errno)
    } catch {
      throw StoreError(
        error.errno == SystemCallError.accessDenied ? .accessDenied : .io, store: path,
        reason: "it cannot be read: \(CurrentProcess.message(for: error.errno))",
        errno: error.errno)
    }
    var listing = PasswordStoreListing(root: path)
    try listing.walk(content, at: "", ancestors: [])
    listing.omissions += GopassStores.mounts(in: path)
    if listing.names.isEmpty, !listing.omissions.isEmpty {
      listing.omissions.insert(listing.clues.omission(store: path), at: 0)
    }
    return StoreListing(names: listing.names.sorted(), omissions: listing.omissions)
  }

  private init(root: String) {
    self.root = root
  }

  /// Walks through a directory, whose path below the root is empty or has a slash at its end.
  private mutating func walk(
    _ content: DirectoryContent, at directory: String, ancestors: Set<FileIdentity>
  ) throws(StoreError) {
    let ancestors = ancestors.union([content.identity])
    for entry in content.entries {
      guard let name = entry.text else {
        let name = MisnamedFile(directory: directory, name: entry.name)
        omit(name.shown, name.remedy(in: root))
        continue
      }
      if PasswordStoreFile.isOwn(name, isInRoot: directory.isEmpty) {
        clues.see(ownFile: name)
        continue
      }
      let path = directory + name
      switch entry.kind {
      // What is in a directory that contains the link to it is listed under its shorter name.
      case .directory(let identity) where ancestors.contains(identity): break
      case .directory:
        if let content = self.content(of: path) {
          try walk(content, at: path + "/", ancestors: ancestors)
        }
      case .file: addFile(path)
      case .special:
        omit(path.withoutSuffix(".gpg"), "it is a pipe, a socket or a device, and not a file")
      case .unknown(let errno):
        omit(path.withoutSuffix(".gpg"), PasswordStoreFile.reason(forUnknown: errno))
      }
      guard names.isEmpty, omissions.count > Self.maximumForeignCount else { continue }
      throw clues.error(store: root, omissions: omissions)
    }
  }

  private mutating func content(of path: String) -> DirectoryContent? {
    do throws(SystemCallError) {
      return try DirectoryContent(path: "\(root)/\(path)")
    } catch {
      omit(path, "it cannot be read: \(CurrentProcess.message(for: error.errno))")
      return nil
    }
  }

  private mutating func addFile(_ path: String) {
    guard path.hasSuffix(".gpg") else {
      clues.see(foreignFile: path)
      return omit(path, PasswordStoreFile.reason(forForeign: path))
    }
    do throws(StoreError) {
      names.append(try ItemName(path.withoutSuffix(".gpg"), in: PasswordStore.namespace))
    } catch {
      omit(path, error.reason + "; rename it")
    }
  }

  private mutating func omit(_ name: String, _ reason: String) {
    omissions.append(
      Omission(
        name, reason: reason, service: PasswordStore.namespace.service, identifier: name))
  }
}
