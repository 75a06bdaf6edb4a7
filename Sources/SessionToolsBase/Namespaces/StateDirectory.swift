import Foundation

/// Where programs of a user keep what must survive a restart and means nothing elsewhere.
///
/// Source: XDG Base Directory Specification, `XDG_STATE_HOME`.
package struct StateDirectory {
  package let path: String

  init(path: String) {
    self.path = path
  }

  /// - Parameters:
  ///   - environment: The process's environment.
  ///   - home: The user's home directory.
  package init(environment: [String: String], home: String) {
    // The specification: a path that is not absolute is to be ignored.
    if let path = environment["XDG_STATE_HOME"], path.hasPrefix("/") {
      self.path = path
    } else {
      path = home + "/.local/state"
    }
  }

  static var ofCurrentUser: StateDirectory {
    StateDirectory(environment: ProcessInfo.processInfo.environment, home: NSHomeDirectory())
  }
}
