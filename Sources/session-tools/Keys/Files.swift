import Foundation
import SessionToolsBase

/// Small questions about paths.
enum Files {
  /// Whether anything stands under a path, a broken link included.
  static func exists(_ path: String) -> Bool {
    // What cannot be looked at is for the one who opens it to complain about.
    ((try? LinuxFileSystem().status(of: path, in: .workingDirectory)) ?? nil) != nil
  }

  /// The names in a directory; none when it cannot be read.
  static func names(in path: String) -> [String] {
    let fileSystem = LinuxFileSystem()
    guard let directory = try? fileSystem.openDirectory(path + "/.") else { return [] }
    defer { fileSystem.close(directory) }
    return (try? fileSystem.names(in: directory)) ?? []
  }

  /// Makes the names in a directory durable.
  ///
  /// - Throws: `io`.
  static func synchronize(_ path: String) throws(StoreError) {
    let fileSystem = LinuxFileSystem()
    do throws(SystemCallError) {
      let directory = try fileSystem.openDirectory(path + "/.")
      defer { fileSystem.close(directory) }
      try fileSystem.synchronize(directory)
    } catch {
      throw StoreError(error, path: path)
    }
  }

  /// Removes a file, if it is there.
  static func remove(_ path: String) {
    // Only for what this process made and no longer needs.
    try? LinuxFileSystem().remove(path, in: .workingDirectory)
  }

  /// Whether a path is in a directory, links in the way followed.
  static func isPath(_ path: String, in directory: String) -> Bool {
    let parent = URL(filePath: path.parentPath).resolvingSymlinksInPath().standardizedFileURL.path
    let store = URL(filePath: directory).resolvingSymlinksInPath().standardizedFileURL.path
    return parent == store || parent.hasPrefix(store.hasSuffix("/") ? store : store + "/")
  }
}
