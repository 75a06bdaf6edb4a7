extension String {
  /// The directory that a path's last component is in.
  package var parentPath: String {
    var path = self[...]
    while path.count > 1, path.last == "/" { path.removeLast() }
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// The path as a shell takes it, for commands that messages tell a person to run.
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
    let quoted = split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''")
    return "'\(quoted)'"
  }
}

extension String {
  /// The command that puts a copy of a file in the place of a link to it.
  package var ownCopyCommand: String {
    let copy = (self + ".own").shellQuoted
    return "cp -pL \(shellQuoted) \(copy) && mv \(copy) \(shellQuoted)"
  }

  /// The command that moves away what stands in a file's place.
  package var setAsideCommand: String {
    "mv \(shellQuoted) \((self + ".aside").shellQuoted)"
  }
}

extension UInt32 {
  /// Permissions as chmod takes them: four octal digits.
  package var octal: String {
    let digits = String(self, radix: 8)
    return String(repeating: "0", count: Swift.max(0, 4 - digits.count)) + digits
  }
}
