import Foundation

/// Where programs of a user keep their files.
///
/// Source: XDG Base Directory Specification.
package enum UserDirectory: Sendable {
  /// What a user would miss: `$XDG_DATA_HOME`, by default `~/.local/share`.
  case data
  /// What must survive a restart and means nothing elsewhere: `$XDG_STATE_HOME`, by default
  /// `~/.local/state`.
  case state
  /// What ends with the login session: `$XDG_RUNTIME_DIR`; where nothing sets that, as for state.
  case runtime

  /// The directory of the current user.
  package var path: String {
    path(environment: ProcessInfo.processInfo.environment)
  }

  /// - Parameter environment: The process's environment.
  /// - Returns: An absolute path.
  package func path(environment: [String: String]) -> String {
    let (variable, fallback): (String, String?) =
      switch self {
      case .data: ("XDG_DATA_HOME", ".local/share")
      case .state: ("XDG_STATE_HOME", ".local/state")
      case .runtime: ("XDG_RUNTIME_DIR", nil)
      }
    // The specification: a path that is not absolute is to be ignored.
    if let path = environment[variable], path.hasPrefix("/") { return path }
    guard let fallback else {
      return Self.state.path(environment: environment)
    }
    return "\(Self.home(environment: environment))/\(fallback)"
  }

  /// The user's home directory: `$HOME`, or where the user database has it.
  package static func home(environment: [String: String]) -> String {
    // Foundation asks the user database alone; a shell, and whoever sets HOME, does not.
    if let home = environment["HOME"], home.hasPrefix("/") { return home }
    return NSHomeDirectory()
  }
}

extension FileSystem {
  /// Makes a directory and those above it that are missing, for this user alone.
  ///
  /// The new names are on the disk when it returns.
  package func makeDirectories(_ path: String) throws(SystemCallError) {
    var prefix = path.hasPrefix("/") ? "" : "."
    for part in path.split(separator: "/") {
      let parent = prefix
      prefix += "/" + part
      do throws(SystemCallError) {
        try makeDirectory(prefix)
      } catch {
        // Not only EEXIST: whether it may be made is asked before whether it is there.
        guard try status(of: prefix, in: .workingDirectory) != nil else { throw error }
        continue
      }
      // The dot follows a link in the parent's place.
      let directory = try openDirectory(parent + "/.")
      defer { close(directory) }
      try synchronize(directory)
    }
  }
}
