import ArgumentParser
import Foundation
import SessionToolsBase

/// The store and the service that are meant when the command line names none.
///
/// An option wins over the environment, and the environment wins over the file. The file is not
/// read, and so cannot fail, when the command line says everything.
enum Settings {
  static let storeVariable = "SESSION_TOOLS_STORE"

  /// Returns the default store.
  ///
  /// - Throws: A usage failure if there is no default, or for an invalid one, and as
  ///   `SettingsFile.read`.
  static func store() throws -> StoreLocation {
    guard let (location, _) = try defaultStore() else {
      throw Failure(
        .usage,
        "no store is named; give one, name it in \(storeVariable), or as store = PATH in "
          + SettingsFile.shownPath)
    }
    return location
  }

  /// Returns the default store and what names it; `nil` if no store is named.
  ///
  /// - Throws: A usage failure for an invalid one, and as `SettingsFile.read`.
  static func defaultStore() throws -> (location: StoreLocation, origin: String)? {
    let origin: String
    let text: String
    if let value = ProcessInfo.processInfo.environment[storeVariable], !value.isEmpty {
      (text, origin) = (value, storeVariable)
    } else if let entry = try SettingsFile.read().store {
      (text, origin) = (entry.value, "\(SettingsFile.shownPath), line \(entry.line)")
    } else {
      return nil
    }
    return (try location(text, from: origin), origin)
  }

  /// Returns whether there is a default service.
  ///
  /// - Throws: As `SettingsFile.read`.
  static func hasService() throws -> Bool { try SettingsFile.read().service != nil }

  /// Returns the default service.
  ///
  /// - Throws: A usage failure if there is no default, and as `SettingsFile.read`.
  static func service() throws -> String {
    guard let entry = try SettingsFile.read().service else {
      throw Failure(
        .usage,
        "no service is named; give it with --service, or as service = NAME in "
          + SettingsFile.shownPath)
    }
    return entry.value
  }

  /// Reads a store that means the same in every directory.
  private static func location(_ text: String, from source: String) throws -> StoreLocation {
    let location: StoreLocation
    do {
      location = try StoreLocation(try expandingHome(in: text))
    } catch let error as ValidationError {
      throw Failure(.usage, "\(source): \(error.message)")
    }
    if case .sealed(let path) = location, !path.hasPrefix("/") {
      throw Failure(
        .usage,
        "\(source): the path of the default store must be absolute, or begin with ~/; "
          + "it is \(path)")
    }
    return location
  }

  /// Replaces `~/` at the start, where no shell has done so.
  ///
  /// - Throws: `unavailable` if this user has no home directory.
  static func expandingHome(in text: String) throws(StoreError) -> String {
    guard text.hasPrefix("~/") else { return text }
    return try UserDirectory.home() + text.dropFirst()
  }
}
