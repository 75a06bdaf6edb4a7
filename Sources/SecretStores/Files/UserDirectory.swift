import Foundation
import Glibc

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
  ///
  /// - Throws: As ``path(environment:)``.
  package var path: String {
    get throws(StoreError) { try path(environment: ProcessInfo.processInfo.environment) }
  }

  /// Returns the directory for an environment.
  ///
  /// - Parameter environment: The process's environment.
  /// - Returns: An absolute path.
  /// - Throws: `unavailable` if neither the environment nor the user database says where it is.
  package func path(environment: [String: String]) throws(StoreError) -> String {
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
      return try Self.state.path(environment: environment)
    }
    return "\(try Self.home(environment: environment, or: variable))/\(fallback)"
  }

  /// Returns the user's home directory: `$HOME`, or the one in the user database.
  ///
  /// - Parameters:
  ///   - environment: The process's environment.
  ///   - variable: A variable that would do as well.
  /// - Returns: An absolute path.
  /// - Throws: `unavailable` if there is neither.
  package static func home(
    environment: [String: String] = ProcessInfo.processInfo.environment, or variable: String? = nil
  ) throws(StoreError) -> String {
    if let home = environment["HOME"], home.hasPrefix("/") { return home }
    // NSHomeDirectory() invents one.
    let user = CurrentProcess.user
    let unknown: String
    do throws(SystemCallError) {
      if let home = try CurrentProcess.home(ofUser: user), home.hasPrefix("/") { return home }
      unknown = "user \(user) has none in the user database"
    } catch {
      unknown = "the user database cannot be read: \(CurrentProcess.message(for: error.errno))"
    }
    let variables = ["HOME", variable].compactMap(\.self).joined(separator: " or ")
    throw StoreError(
      .unavailable, store: "the home directory",
      reason: "HOME is not set to an absolute path, and \(unknown)",
      remedy: "Set \(variables) to a directory of your own")
  }
}

extension FileSystem {
  /// Creates a directory of this user, and the missing ones above it, for this user alone.
  ///
  /// The new names are durable when it returns. Root makes nothing in another user's place: with
  /// the environment of a user (`sudo -E`), it would lock that user out. Others make what they may:
  /// a container's home may belong to its image's user, and be shared by a group (OpenShift).
  ///
  /// - Throws: `unsafePermissions` if the nearest directory that exists is another user's, or its
  ///   file system keeps no permissions, `accessDenied`, `noSpace` or `io`.
  package func makeDirectories(_ path: String) throws(StoreError) {
    _ = try nearestObstacle(on: path)
    var prefix = path.hasPrefix("/") ? "" : "."
    for part in path.split(separator: "/") {
      let parent = prefix
      prefix += "/" + part
      do throws(SystemCallError) {
        do throws(SystemCallError) {
          try makeDirectory(prefix)
        } catch {
          // Not only EEXIST: the kernel checks whether it may be created before whether it exists.
          guard try status(of: prefix, in: .workingDirectory) != nil else { throw error }
          continue
        }
        try synchronizeNames(in: parent)
      } catch {
        throw StoreError(error, path: prefix)
      }
    }
  }

  /// Checks whether this user may make a directory, or names in it, without making any.
  ///
  /// - Throws: As ``makeDirectories(_:)``.
  package func checkMakingDirectories(_ path: String) throws(StoreError) {
    guard let nearest = try nearestObstacle(on: path) else { return }
    guard unsafe faccessat(AT_FDCWD, nearest.path, W_OK | X_OK, AT_EACCESS) != 0 else { return }
    throw StoreError(SystemCallError("mkdir", errno), path: path)
  }

  /// Returns what is there of a path, unless it is not for root to make the rest.
  private func nearestObstacle(on path: String) throws(StoreError) -> Obstacle? {
    let nearest = Obstacle(on: path)
    if CurrentProcess.user == 0, let nearest, nearest.isAnotherUsers {
      throw nearest.refusal(toMake: path)
    }
    return nearest
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
