import Foundation

extension StoreLocation {
  /// The variable that names a store for commands that were given none.
  static let environmentVariable = "SESSION_TOOLS_STORE"

  /// Returns the store that the environment names; `nil` if it names none.
  ///
  /// - Throws: As ``init(_:)``.
  static func ofEnvironment() throws -> StoreLocation? {
    guard let argument = ProcessInfo.processInfo.environment[environmentVariable],
      !argument.isEmpty
    else { return nil }
    return try StoreLocation(argument)
  }
}
