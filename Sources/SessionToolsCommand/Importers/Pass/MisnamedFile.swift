import Foundation
import SecretStores

/// A file or directory whose name is not UTF-8, so that no item can be named after it.
struct MisnamedFile {
  private let path: [UInt8]
  private let name: [UInt8]
  private let directory: String

  /// - Parameters:
  ///   - directory: Its directory's path below the root, empty or with a slash at its end.
  ///   - name: Its name.
  init(directory: String, name: [UInt8]) {
    self.directory = directory
    self.name = name
    path = Array(directory.utf8) + name
  }

  /// Its path below the root, with `\xE9` in place of the bytes that are not UTF-8.
  var shown: String {
    Self.parts(of: path).map { text, byte in
      text + (byte.map { "\\x" + String($0, radix: 16, uppercase: true) } ?? "")
    }.joined()
  }

  /// Returns what to do: the command that gives it the name that a program of the last century
  /// meant.
  ///
  /// The command has no backslash for such a byte, because tables escape it once more.
  func remedy(in root: String) -> String {
    let meant =
      String(bytes: name, encoding: .windowsCP1252) ?? String(bytes: name, encoding: .isoLatin1)
      ?? "NAME"
    let pattern = Self.parts(of: Array("\(root)/".utf8) + path).map { text, byte in
      (text.isEmpty ? "" : text.shellQuoted) + (byte == nil ? "" : "?")
    }.joined()
    return "its name is not UTF-8; rename it: mv -n \(pattern) "
      + "\(root)/\(directory)\(meant)".shellQuoted
  }

  /// Splits bytes into texts, each with the byte behind it that is not UTF-8.
  private static func parts(of bytes: [UInt8]) -> [(text: String, byte: UInt8?)] {
    var parts: [(text: String, byte: UInt8?)] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      // The longest beginning that is UTF-8; a path has at most some thousand bytes.
      let count = (0...rest.count).last { count in
        String(validating: rest.prefix(count), as: UTF8.self) != nil
      }
      let text = String(decoding: rest.prefix(count ?? 0), as: UTF8.self)
      rest = rest.dropFirst(count ?? 0)
      parts.append((text, rest.popFirst()))
    }
    return parts
  }
}
