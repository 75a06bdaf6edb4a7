import Foundation
import SessionToolsBase

/// The file `$XDG_CONFIG_HOME/session-tools/config`: lines such as `store = ~/vault`.
///
/// A value is everything behind the equals sign, without the spaces around it. Empty lines and
/// lines that begin with `#` mean nothing. Anything else is an error: a misspelled key must not
/// lead to another store.
struct SettingsFile {
  /// The largest size of the file in bytes.
  private static let maximumByteCount = 64 << 10

  /// A value, and the number of its line.
  struct Entry: Equatable {
    let value: String
    let line: Int
  }

  private(set) var store: Entry?
  private(set) var service: Entry?
  /// Where reads are recorded.
  private(set) var audit: Entry?

  /// The path of the current user's file.
  ///
  /// - Throws: `unavailable` if this user has no home directory.
  static var path: String {
    get throws(StoreError) { "\(try UserDirectory.configuration.path)/session-tools/config" }
  }
  /// The path for people, who may have to set a variable first.
  static var shownPath: String { (try? path) ?? "$XDG_CONFIG_HOME/session-tools/config" }

  /// Reads the current user's file; there may be no file.
  ///
  /// - Throws: `unsafePermissions` if another user could have written it, `accessDenied` or `io`,
  ///   and a usage failure that names the line of a mistake.
  static func read() throws -> SettingsFile {
    let path = try path
    guard Files.exists(path) else { return SettingsFile() }
    return try SettingsFile(text(at: path), path: path)
  }

  /// Reads the lines of a text.
  ///
  /// - Throws: A usage failure that names the line of a mistake.
  init(_ text: String, path: String) throws {
    // Split by scalars: a carriage return and a newline are one `Character`.
    let lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
    for (position, scalars) in lines.enumerated() {
      let line = Self.trimmed(String(String.UnicodeScalarView(scalars)))
      if line.isEmpty || line.hasPrefix("#") { continue }
      do throws(Mistake) {
        try take(line, number: position + 1)
      } catch {
        throw Failure(.usage, "\(path), line \(position + 1): \(error.text)")
      }
    }
  }

  private init() {}

  private struct Mistake: Error {
    let text: String
  }

  private mutating func take(_ line: String, number: Int) throws(Mistake) {
    guard let separator = line.firstIndex(of: "=") else {
      throw Mistake(text: "write KEY = VALUE; the keys are store, service and audit")
    }
    let key = Self.trimmed(String(line[..<separator]))
    let value = Self.trimmed(String(line[line.index(after: separator)...]))
    let property: WritableKeyPath<SettingsFile, Entry?>
    switch key {
    case "store": property = \.store
    case "service": property = \.service
    case "audit": property = \.audit
    default: throw Mistake(text: "there is no key '\(key)'; the keys are store, service and audit")
    }
    guard !value.isEmpty else { throw Mistake(text: "\(key) has no value") }
    // Quotes would be part of the name, which is hardly meant.
    guard !value.hasPrefix("\""), !value.hasPrefix("'") else {
      throw Mistake(text: "write the value of \(key) without quotes")
    }
    if let earlier = self[keyPath: property] {
      throw Mistake(text: "\(key) was set in line \(earlier.line) already")
    }
    self[keyPath: property] = Entry(value: value, line: number)
  }

  private static func trimmed(_ text: String) -> String {
    text.trimmingCharacters(in: CharacterSet(charactersIn: " \t\r"))
  }

  private static func text(at path: String) throws -> String {
    let file: OpenFile
    do throws(SystemCallError) {
      // The file itself may be a link, as in a directory that is kept under version control.
      let target = URL(filePath: path).resolvingSymlinksInPath().path
      file = try OpenFile(
        target, in: .workingDirectory, .read, path: path, fileSystem: LinuxFileSystem())
    } catch {
      throw StoreError(error, path: path)
    }
    try AccessRule.ownFile.check(try file.status(), path: path)
    let buffer = ByteBuffer(byteCount: maximumByteCount + 1)
    let byteCount = try file.read(at: 0, into: buffer, 0..<buffer.byteCount)
    guard byteCount <= maximumByteCount else {
      throw Failure(.usage, "\(path): the file has more than \(maximumByteCount) bytes")
    }
    guard let text = String(validating: buffer.bytes(0..<byteCount), as: UTF8.self) else {
      throw Failure(.usage, "\(path): the file is not UTF-8")
    }
    return text
  }
}
