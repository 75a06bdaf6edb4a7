import Foundation
import SealedStore
import SessionToolsBase

/// Small operations on paths.
enum Files {
  /// Returns whether anything exists at a path, including a broken link.
  ///
  /// What cannot be examined counts as there, so that opening it reports the error.
  static func exists(_ path: String) -> Bool {
    do throws(SystemCallError) {
      return try LinuxFileSystem().status(of: path, in: .workingDirectory) != nil
    } catch {
      return true
    }
  }

  /// Returns whether a path is that of a directory itself, not of a link to one.
  static func isDirectory(_ path: String) -> Bool {
    ((try? LinuxFileSystem().status(of: path, in: .workingDirectory)) ?? nil)?.kind == .directory
  }

  /// Returns the path of a program, found by `PATH` unless its name is a path; `nil` if there is no
  /// such program.
  static func program(_ name: String) -> String? {
    if name.contains("/") { return exists(name) ? name : nil }
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    return path.split(separator: ":").map { "\($0)/\(name)" }
      .first(where: FileManager.default.isExecutableFile)
  }

  /// The path of this program, which has a name that `ps` shows.
  static var ownProgram: String {
    let link = "/proc/self/exe"
    // The kernel finds the program by the link, even if its file was replaced since.
    let path = try? FileManager.default.destinationOfSymbolicLink(atPath: link)
    return path.flatMap { exists($0) ? $0 : nil } ?? link
  }

  /// Returns the names in a directory; an empty array if it cannot be read.
  static func names(in path: String) -> [String] {
    let fileSystem = LinuxFileSystem()
    guard let opened = try? fileSystem.openDirectory(path + "/.") else { return [] }
    let directory = OwnedDescriptor(opened, of: fileSystem)
    return (try? fileSystem.names(in: directory.descriptor)) ?? []
  }

  /// Reads a whole file into memory that is wiped.
  ///
  /// - Throws: A failure if there is no file, or it cannot be read; `valueTooLarge`.
  static func read(_ path: String, atMost maximumByteCount: Int) throws -> SecretBytes {
    do throws(SystemCallError) {
      if let content = try System.readAll(path, atMost: maximumByteCount) { return content }
    } catch  where error.errno == SystemCallError.noSuchFile {
      throw Failure(.unavailable, "\(path): there is no such file")
    } catch  where error.errno == EISDIR {
      throw Failure(.unavailable, "\(path): this is a directory; name a file")
    } catch {
      throw StoreError(error, path: path)
    }
    throw StoreError(
      .valueTooLarge, store: path, reason: "the file has more than \(maximumByteCount) bytes",
      remedy: "Import it in parts")
  }

  /// Makes the names in a directory durable.
  ///
  /// - Throws: `io`.
  static func synchronize(_ path: String) throws(StoreError) {
    try LinuxFileSystem().synchronizeDirectory(path)
  }

  /// Removes a file, if it exists.
  static func remove(_ path: String) {
    // Only for files that this process made and no longer needs.
    try? LinuxFileSystem().remove(path, in: .workingDirectory)
  }

  /// Returns the directory of a store that a path is in; `nil` if there is no such store.
  static func store(around path: String) -> String? {
    var directory = URL(filePath: path.parentPath).resolvingSymlinksInPath().standardizedFileURL
    while true {
      // A directory that cannot be examined is not a store of this user.
      if (try? SealedFileStore.exists(at: directory.path)) == true { return directory.path }
      let parent = directory.deletingLastPathComponent().standardizedFileURL
      guard parent.path != directory.path, parent.path.utf8.count < directory.path.utf8.count else {
        return nil
      }
      directory = parent
    }
  }

  /// Returns whether a path is in a directory, with symbolic links above it resolved.
  static func isPath(_ path: String, in directory: String) -> Bool {
    let (parent, store) = (path.parentPath.withoutLinks, directory.withoutLinks)
    return parent == store || parent.hasPrefix(store.hasSuffix("/") ? store : store + "/")
  }
}
