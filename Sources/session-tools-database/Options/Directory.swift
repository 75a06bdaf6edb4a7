import ArgumentParser
import SessionToolsCommand

/// A sealed store in a directory, as the command line names it.
enum Directory {
  /// Reads `PATH` or `sealed:PATH`.
  ///
  /// - Throws: `ValidationError` for anything else; it names the other kinds that may be given.
  static func path(_ argument: String, or kinds: [String] = []) throws -> String {
    let location = try StoreLocation(argument, kinds: ["sealed:"] + kinds)
    guard case .sealed(let path) = location else {
      throw ValidationError(
        "It is not a store in a directory; session-tools migrate copies it to one.")
    }
    return path
  }
}
