package import StoreMigration
import Foundation
package import SecretStores

/// The file in which programs of the network keep passwords, `~/.netrc`, as the source of a
/// migration.
///
/// A machine becomes a service with its name, and `default` the service `default`; items are
/// `username`, `password` and `account`. A second login of a machine is the service `machine (2)`.
/// A macro is listed and left out.
///
/// Source: netrc(5) of Debian's package ftp, and lib/netrc.c of curl, for quotes and comments.
package enum Netrc {
  /// The file that programs read: `$NETRC`, or `~/.netrc`.
  ///
  /// - Throws: `unavailable` if this user has no home directory.
  static var standardPath: String {
    get throws(StoreError) {
      if let path = ProcessInfo.processInfo.environment["NETRC"], !path.isEmpty { return path }
      return try UserDirectory.home(or: "NETRC") + "/.netrc"
    }
  }

  /// Returns the items of a file.
  ///
  /// - Parameters:
  ///   - text: The entire file.
  ///   - name: The name of the file in errors.
  /// - Returns: The items; listing them reports the macros.
  /// - Throws: `undecodable` with the line, or with the kind of a file of another format.
  package static func items(
    _ text: SecretBytes, name: String
  ) throws(StoreError) -> ReadOnlyItems {
    var reader = NetrcReader(
      lines: try TextLines(
        text, is: .netrc, name: name,
        remedy: "Put comments on lines of their own, and double quotes around a value with spaces"))
    return try reader.entries(ExportedEntries(name, of: "netrc")).store
  }
}

private struct NetrcReader {
  private let lines: TextLines
  private var words: [(text: String, line: Int, isQuoted: Bool)] = []
  private var macros: [(name: String, machine: Int)] = []
  private var machines: [(name: String, fields: [ExportedEntries.Field])] = []

  init(lines: TextLines) {
    self.lines = lines
  }

  /// Adds what the lines have to some entries.
  mutating func entries(_ entries: ExportedEntries) throws(StoreError) -> ExportedEntries {
    try readWords()
    try readMachines()
    var entries = entries
    for (index, machine) in machines.enumerated() {
      entries.add(
        [machine.name], machine.fields,
        unread: macros.filter { $0.machine == index }.map {
          ExportedEntries.Unread("the macro \($0.name)")
        })
    }
    for macro in macros where macro.machine < 0 {
      entries.leaveOut("macro \(macro.name)", ExportedEntries.Unread("its lines"))
    }
    return entries
  }

  private static let keywords: Set = [
    "machine", "login", "user", "password", "passwd", "account", "macdef", "port", "protocol",
    "method",
  ]

  /// Splits the lines into words, without comments and the lines of macros.
  private mutating func readWords() throws(StoreError) {
    var (isInMacro, isValue, isMacro) = (false, false, false)
    for (number, line) in lines.numbered {
      if isInMacro {
        isInMacro = !line.allSatisfy(Self.isBlank)
        continue
      }
      var rest = line[...]
      while let word = try Self.nextWord(in: &rest, lines, number) {
        // A comment, where no value is: passwords begin with this, too.
        if !isValue, !word.isQuoted, word.text.hasPrefix("#") { break }
        words.append((word.text, number, word.isQuoted))
        isInMacro = isInMacro || isMacro
        let isKeyword = !isValue && !word.isQuoted && Self.keywords.contains(word.text)
        (isMacro, isValue) = (isKeyword && word.text == "macdef", isKeyword)
      }
    }
  }

  private static func isBlank(_ character: Character) -> Bool {
    character == " " || character == "\t"
  }

  /// Removes the first word from a line; `nil` at its end.
  private static func nextWord(
    in rest: inout Substring, _ lines: TextLines, _ number: Int
  ) throws(StoreError) -> (text: String, isQuoted: Bool)? {
    rest = rest.drop(while: isBlank)
    guard rest.first == "\"" else {
      let word = rest.prefix { !isBlank($0) }
      rest = rest.dropFirst(word.count)
      return word.isEmpty ? nil : (String(word), false)
    }
    rest.removeFirst()
    var word = ""
    while let character = rest.popFirst() {
      switch character {
      case "\"": return (word, true)
      case "\\":
        guard let escaped = rest.popFirst() else { break }
        word.append(["n": "\n", "r": "\r", "t": "\t"][escaped] ?? escaped)
      default: word.append(character)
      }
    }
    throw lines.undecodable("a quote is not closed", line: number)
  }

  private mutating func readMachines() throws(StoreError) {
    var at = 0
    /// Returns the word that has to follow.
    func value(_ of: String) throws(StoreError) -> String {
      let next = at + 1 < words.count ? words[at + 1] : nil
      // On a later line, the word for another part is not the value of this one.
      let isMissing = next.map { next in
        !next.isQuoted && next.line > words[at].line
          && (Self.keywords.contains(next.text) || next.text == "default")
      }
      guard let next, isMissing == false else {
        throw lines.undecodable("nothing follows \(of)", line: words[at].line)
      }
      return next.text
    }
    while at < words.count {
      let word = words[at]
      switch word.text {
      case "default" where !word.isQuoted:
        machines.append(("default", []))
        at += 1
        continue
      case "machine" where !word.isQuoted: machines.append((try value("machine"), []))
      case "macdef" where !word.isQuoted:
        macros.append((try value("macdef"), machines.count - 1))
      case _ where !word.isQuoted && Self.keywords.contains(word.text):
        guard !machines.isEmpty else {
          throw lines.undecodable("it is of no machine", line: word.line)
        }
        let field = ["login": "username", "user": "username", "passwd": "password"][word.text]
        machines[machines.count - 1].fields.append(
          ExportedEntries.Field(name: field ?? word.text, value: try value(word.text)))
      default:
        // Without the word, which may be a part of a password.
        throw lines.undecodable(
          "a word is not machine, default, login, password, account or macdef", line: word.line)
      }
      at += 2
    }
  }
}
