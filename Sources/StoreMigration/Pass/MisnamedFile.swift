import Foundation
import SessionToolsBase

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
    var shown = ""
    var rest = path[...]
    while !rest.isEmpty {
      // The longest beginning that is UTF-8; a name has at most 255 bytes.
      let count = (0...rest.count).last { count in
        String(validating: rest.prefix(count), as: UTF8.self) != nil
      }
      let valid = rest.prefix(count ?? 0)
      shown += String(decoding: valid, as: UTF8.self)
      rest = rest.dropFirst(valid.count)
      if let byte = rest.popFirst() { shown += "\\x" + String(byte, radix: 16, uppercase: true) }
    }
    return shown
  }

  /// Returns what to do: the command that gives it the name that a program of the last century
  /// meant.
  func remedy(in root: String) -> String {
    let meant =
      String(bytes: name, encoding: .windowsCP1252) ?? String(bytes: name, encoding: .isoLatin1)
      ?? "NAME"
    return "its name is not UTF-8; rename it: mv -n \(Self.quoted(Array("\(root)/".utf8) + path)) "
      + "\(root)/\(directory)\(meant)".shellQuoted
  }

  /// Returns bytes as a shell reads them back.
  private static func quoted(_ bytes: [UInt8]) -> String {
    let escaped = bytes.map { byte in
      let isPlain =
        (0x20..<0x7F).contains(byte) && byte != UInt8(ascii: "'")
        && byte != UInt8(ascii: "\\")
      if isPlain { return String(UnicodeScalar(byte)) }
      let digits = String(byte, radix: 8)
      return "\\" + String(repeating: "0", count: 3 - digits.count) + digits
    }
    return "$'\(escaped.joined())'"
  }
}
