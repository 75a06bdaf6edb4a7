import ArgumentParser
import SessionToolsBase

/// An environment variable whose value is an item: `NAME=IDENTIFIER`.
struct ItemVariable {
  let name: String
  let identifier: String

  /// Reads the argument of `--env`.
  ///
  /// - Throws: `ValidationError` if there is no valid name of a variable before the first `=`.
  init(_ argument: String) throws {
    let name = String(argument.prefix { $0 != "=" })
    guard name.utf8.count < argument.utf8.count, Self.isName(name) else {
      throw ValidationError(
        "Write NAME=IDENTIFIER, with a name of letters, digits and _ that begins with no digit.")
    }
    self.name = name
    identifier = String(argument.dropFirst(name.count + 1))
  }

  /// Makes a variable that is named as its item; `nil` if variables cannot have that name, or if it
  /// would change how the command is run.
  init?(namedAs itemName: ItemName) {
    guard Self.isName(itemName.identifier), !ProgramVariables.contain(itemName.identifier) else {
      return nil
    }
    name = itemName.identifier
    identifier = itemName.identifier
  }

  /// Returns a name for the variable of an item: `API_KEY` for `api-key`; `nil` if nothing fits.
  static func suggestion(for itemName: ItemName) -> String? {
    let name = String(
      itemName.identifier.uppercased().unicodeScalars.map { scalar in
        isName("A\(scalar)") ? Character(scalar) : "_"
      })
    let suggestion = isName(name) ? name : "_" + name
    return name.contains { $0 != "_" } && !ProgramVariables.contain(suggestion) ? suggestion : nil
  }

  /// Whether shells accept the name of a variable (POSIX.1-2017, section 8.1, with small letters).
  private static func isName(_ name: String) -> Bool {
    guard let first = name.utf8.first, !isDigit(first) else { return false }
    return name.utf8.allSatisfy { byte in
      UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20 || isDigit(byte)
        || byte == UInt8(ascii: "_")
    }
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
  }
}
