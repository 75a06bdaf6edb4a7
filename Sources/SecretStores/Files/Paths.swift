import Foundation

extension String {
  /// The path without trailing slashes, with which the kernel would follow a link in the last
  /// component's place.
  package var withoutTrailingSlashes: String {
    var path = utf8[...]
    while path.count > 1, path.last == UInt8(ascii: "/") { path.removeLast() }
    return String(Substring(path))
  }

  /// The directory that a path's last component is in.
  package var parentPath: String {
    let path = withoutTrailingSlashes
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// The absolute path, with symbolic links resolved as far as there are files.
  package var withoutLinks: String {
    URL(filePath: self).resolvingSymlinksInPath().standardizedFileURL.path
  }

  /// The path quoted for a shell, for commands that messages suggest.
  ///
  /// Characters that would act on a terminal, or end a line of a log, are written so that bash, zsh
  /// and POSIX.1-2024 shells understand them: `$'a\012b'`.
  package var shellQuoted: String {
    let plain = utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."),
        UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "+"), UInt8(ascii: ","):
        true
      default: false
      }
    }
    if plain, !isEmpty, !hasPrefix("-") { return self }
    if unicodeScalars.contains(where: \.actsOnTerminals) {
      return "$'\(unicodeScalars.map(\.shellEscaped).joined())'"
    }
    let quoted = split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''")
    return "'\(quoted)'"
  }
}

extension String {
  /// The command that replaces a link to a file by a copy of the file.
  package var ownCopyCommand: String {
    let copy = (self + ".own").shellQuoted
    return "cp -pL \(shellQuoted) \(copy) && mv \(copy) \(shellQuoted)"
  }

  /// Returns what to do about something else in a file's place; a command only if that may be moved
  /// or copied, which a device or a pipe of the shell may not.
  package func remedy(_ advice: String, orRun command: String) -> String {
    let isOfSystem = [self, withoutLinks].contains { path in
      ["/dev/", "/proc/", "/sys/"].contains(where: path.hasPrefix)
    }
    return isOfSystem ? "Name a regular file" : "\(advice), or run \(command)"
  }

  /// The command that moves away whatever is in a file's place.
  package var setAsideCommand: String {
    "mv \(shellQuoted) \((self + ".aside").shellQuoted)"
  }
}

extension Unicode.Scalar {
  /// The character as written between `$'` and `'`.
  fileprivate var shellEscaped: String {
    if self == "'" || self == "\\" { return "\\\(self)" }
    guard actsOnTerminals else { return String(self) }
    return String(self).utf8.map { byte in
      let digits = String(byte, radix: 8)
      return "\\" + String(repeating: "0", count: 3 - digits.count) + digits
    }.joined()
  }
}

extension UInt32 {
  /// Permissions as chmod takes them: four octal digits.
  package var octal: String {
    let digits = String(self, radix: 8)
    return String(repeating: "0", count: Swift.max(0, 4 - digits.count)) + digits
  }
}
