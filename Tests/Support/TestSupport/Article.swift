import Foundation

/// An article of the documentation, whose examples are tried.
package struct Article {
  package struct MissingFile: Error {
    let path: String
  }

  /// The entire article.
  package let text: String

  /// - Parameter name: The name of an article of `SessionTools`, such as `OtherPrograms`.
  /// - Throws: An error if it cannot be read.
  package init(_ name: String) throws {
    text = try String(
      contentsOfFile: "\(SourceDirectory.path)/Sources/SessionTools/SessionTools.docc/\(name).md",
      encoding: .utf8)
  }

  /// Returns the content of a file as the article shows it, with this build's tool in it.
  ///
  /// A line with the file's path stands before each block of code that is a file.
  package func file(_ path: String) throws -> String {
    let blocks = text.matches(of: /\n`([^`\n]+)`:\n\n```[a-z]*\n(.*?)\n```\n/.dotMatchesNewlines())
    guard let block = blocks.first(where: { $0.1 == path }) else { throw MissingFile(path: path) }
    return block.2.replacingOccurrences(of: "/usr/local/bin/session-tools", with: Tool.program)
      + "\n"
  }
}
