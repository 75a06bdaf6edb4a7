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
    if let text = ProcessInfo.processInfo.environment[storeVariable], !text.isEmpty {
      return try location(text, from: storeVariable)
    }
    let file = try SettingsFile.read()
    guard let entry = file.store else {
      throw Failure(
        .usage,
        "no store is named; give it with --store, in \(storeVariable), or as store = PATH in "
          + SettingsFile.path)
    }
    return try location(entry.value, from: "\(SettingsFile.path), line \(entry.line)")
  }

  /// Returns whether there is a default store.
  ///
  /// - Throws: As `SettingsFile.read`.
  static func hasStore() throws -> Bool {
    if let text = ProcessInfo.processInfo.environment[storeVariable], !text.isEmpty { return true }
    return try SettingsFile.read().store != nil
  }

  /// Returns the default service.
  ///
  /// - Throws: A usage failure if there is no default, and as `SettingsFile.read`.
  static func service() throws -> String {
    guard let entry = try SettingsFile.read().service else {
      throw Failure(
        .usage,
        "no service is named; give it with --service, or as service = NAME in "
          + SettingsFile.path)
    }
    return entry.value
  }

  /// Reads a store that means the same in every directory.
  private static func location(_ text: String, from source: String) throws -> StoreLocation {
    let location: StoreLocation
    do {
      location = try StoreLocation(expandingHome(in: text))
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
  static func expandingHome(in text: String) -> String {
    guard text.hasPrefix("~/") else { return text }
    let home = UserDirectory.home(environment: ProcessInfo.processInfo.environment)
    return home + text.dropFirst()
  }
}
