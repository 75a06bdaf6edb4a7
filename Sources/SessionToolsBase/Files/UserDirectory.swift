import Foundation

/// Where a user's programs keep their files.
///
/// Source: XDG Base Directory Specification.
package enum UserDirectory: Sendable {
  /// What the user chose: `$XDG_CONFIG_HOME`, by default `~/.config`.
  case configuration
  /// Data that the user would miss: `$XDG_DATA_HOME`, by default `~/.local/share`.
  case data
  /// Data that must survive a restart but means nothing elsewhere: `$XDG_STATE_HOME`, by default
  /// `~/.local/state`.
  case state
  /// Data that ends with the login session: `$XDG_RUNTIME_DIR`; if that is unset, as for `state`.
  case runtime

  /// The directory of the current user.
  package var path: String {
    path(environment: ProcessInfo.processInfo.environment)
  }

  /// Returns the directory for an environment.
  ///
  /// - Parameter environment: The process's environment.
  /// - Returns: An absolute path.
  package func path(environment: [String: String]) -> String {
    let (variable, fallback): (String, String?) =
      switch self {
      case .configuration: ("XDG_CONFIG_HOME", ".config")
      case .data: ("XDG_DATA_HOME", ".local/share")
      case .state: ("XDG_STATE_HOME", ".local/state")
      case .runtime: ("XDG_RUNTIME_DIR", nil)
      }
    // The specification says to ignore a path that is not absolute.
    if let path = environment[variable], path.hasPrefix("/") { return path }
    guard let fallback else {
      return Self.state.path(environment: environment)
    }
    return "\(Self.home(environment: environment))/\(fallback)"
  }

  /// Returns the user's home directory: `$HOME`, or the one in the user database.
  package static func home(environment: [String: String]) -> String {
    // Foundation asks only the user database; shells, and those who set HOME, expect HOME to count.
    if let home = environment["HOME"], home.hasPrefix("/") { return home }
    return NSHomeDirectory()
  }
}

extension FileSystem {
  /// Creates a directory and the missing ones above it, for this user alone.
  ///
  /// The new names are durable when it returns.
  package func makeDirectories(_ path: String) throws(SystemCallError) {
    var prefix = path.hasPrefix("/") ? "" : "."
    for part in path.split(separator: "/") {
      let parent = prefix
      prefix += "/" + part
      do throws(SystemCallError) {
        try makeDirectory(prefix)
      } catch {
        // Not only EEXIST: the kernel checks whether it may be created before whether it exists.
        guard try status(of: prefix, in: .workingDirectory) != nil else { throw error }
        continue
      }
      try synchronizeNames(in: parent)
    }
  }

  /// Makes the names in a directory durable.
  ///
  /// - Throws: `accessDenied` or `io`.
  package func synchronizeDirectory(_ path: String) throws(StoreError) {
    do throws(SystemCallError) {
      try synchronizeNames(in: path)
    } catch {
      throw StoreError(error, path: path)
    }
  }

  private func synchronizeNames(in path: String) throws(SystemCallError) {
    // The dot follows a link in the directory's place, which is safe: it is only synced.
    let directory = OwnedDescriptor(try openDirectory(path + "/."), of: self)
    try synchronize(directory.descriptor)
  }
}
