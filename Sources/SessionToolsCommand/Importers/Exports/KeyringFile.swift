package import StoreMigration
import Foundation
package import SecretStores

/// The file that Python's keyring keeps passwords in where it has no other backend, as the source
/// of a migration: `PlaintextKeyring` of the package keyrings.alt.
///
/// The names of service and user become service and identifier. The file does not distinguish
/// upper and lower case in the names of users, and has them in lower case.
///
/// The encrypted file of keyrings.alt, `EncryptedKeyring`, is refused: its AES in CFB mode is in no
/// library that this package is linked with. The error says how keyring itself exports it.
///
/// Source: keyrings/alt/file_base.py and escape.py of keyrings.alt, and configparser of Python.
package enum KeyringFile {
  /// The file in the clear: `python_keyring/keyring_pass.cfg` in the user's data directory.
  ///
  /// - Throws: `unavailable` if this user has no home directory.
  package static var standardPath: String {
    get throws(StoreError) { "\(try directory)/keyring_pass.cfg" }
  }
  /// The encrypted file: `python_keyring/crypted_pass.cfg` in the user's data directory.
  ///
  /// - Throws: As ``standardPath``.
  package static var encryptedPath: String {
    get throws(StoreError) { "\(try directory)/crypted_pass.cfg" }
  }

  private static var directory: String {
    get throws(StoreError) { "\(try UserDirectory.data.path)/python_keyring" }
  }

  /// Returns the items of a file.
  ///
  /// - Parameters:
  ///   - text: The entire file.
  ///   - name: The path of the file, for errors.
  /// - Returns: The items; listing them reports those whose names are not valid here.
  /// - Throws: `undecodable` with the line, or for an encrypted file, or with the kind of a file of
  ///   another format; `alreadyExists` for a name that is in an earlier line.
  package static func items(
    _ text: SecretBytes, name: String
  ) throws(StoreError) -> ReadOnlyItems {
    let bytes = text.copyBytes()
    try DocumentKind(of: bytes).check(is: .keyringFile, name: name)
    var reader = KeyringFileReader(name: name)
    for line in bytes.split(
      separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    {
      try reader.read(line)
    }
    try reader.finishOption()
    return ReadOnlyItems(
      name: name, protection: "plain text, the file of Python's keyring", items: reader.items,
      omissions: reader.omissions)
  }

  /// Returns the error for an encrypted file, with a command that exports its items.
  package static func encrypted(_ path: String) -> StoreError {
    StoreError(
      .undecodable, store: path,
      reason: "this file of Python's keyring is encrypted, and only keyring opens it",
      remedy: "Run python3 -c \(exporter.shellQuoted) \(path.shellQuoted) | "
        + "session-tools import STORE jsonl:- (with your store for STORE)")
  }

  /// A program that writes the items of an encrypted file as JSON Lines.
  private static let exporter =
    "import configparser, json, sys; from keyrings.alt.escape import unescape; "
    + "from keyrings.alt.file import EncryptedKeyring; "
    + "keyring = EncryptedKeyring(); keyring.file_path = sys.argv[1]; "
    + "file = configparser.RawConfigParser(); file.read(sys.argv[1]); "
    + "names = [(unescape(s), unescape(u)) for s in file.sections() for u in file.options(s) "
    + "if s != \"keyring_2Dsetting\"]; "
    + "[print(json.dumps({\"service\": s, \"identifier\": u, "
    + "\"value\": keyring.get_password(s, u)})) for s, u in names]"
}

/// A reader of the lines of a file.
private struct KeyringFileReader {
  /// A name and its value in base64, of which further lines may follow.
  private struct Option {
    let service: String
    let identifier: String
    let line: Int
    var base64: [UInt8]
  }

  let name: String
  private(set) var items: [ItemName: SecretBytes] = [:]
  private(set) var omissions: [Omission] = []
  private var line = 0
  private var service: String?
  private var services: Set<[UInt8]> = []
  private var option: Option?

  init(name: String) {
    self.name = name
  }

  mutating func read(_ bytes: ArraySlice<UInt8>) throws(StoreError) {
    line += 1
    let text = Self.trimmed(bytes)
    guard let first = bytes.first, !text.isEmpty, !"#;".utf8.contains(first) else { return }
    if Self.isSpace(first) {
      guard option != nil else { throw undecodable("a line is indented, but continues nothing") }
      option?.base64 += text
      return
    }
    try finishOption()
    if first == UInt8(ascii: "["), text.last == UInt8(ascii: "]") {
      try readSection(text.dropFirst().dropLast())
    } else {
      try readOption(text)
    }
  }

  /// Adds the item whose lines were read last.
  mutating func finishOption() throws(StoreError) {
    guard let option else { return }
    self.option = nil
    guard let value = Data(base64Encoded: Data(option.base64)) else {
      throw undecodable("the value is not in base64", line: option.line)
    }
    let itemName: ItemName
    do throws(StoreError) {
      itemName = try ItemName(option.identifier, in: StoreNamespace(service: option.service))
    } catch {
      omissions.append(
        Omission(
          option.service, part: option.identifier,
          reason: "\(error.reason); copy it by hand, with keyring get", service: option.service))
      return
    }
    guard items.updateValue(SecretBytes(value), forKey: itemName) == nil else {
      throw StoreError(
        .alreadyExists, store: "\(name), line \(option.line)",
        reason: "\(itemName) is already in an earlier line")
    }
  }

  private mutating func readSection(_ text: ArraySlice<UInt8>) throws(StoreError) {
    let service = try unescaped(text)
    // Byte for byte, as names of items are compared.
    guard services.insert(Array(service.utf8)).inserted else {
      throw undecodable("the section of \(service) is already in an earlier line")
    }
    self.service = service
  }

  private mutating func readOption(_ text: ArraySlice<UInt8>) throws(StoreError) {
    guard let service else { throw undecodable("a line is before the first section") }
    guard let end = text.firstIndex(where: { "=:".utf8.contains($0) }) else {
      throw undecodable("a line has neither a section nor a value")
    }
    let identifier = try unescaped(Self.trimmed(text[..<end]))
    // Only an encrypted file has this; it serves to check the password.
    guard service != "keyring-setting" || identifier != "password reference" else {
      throw KeyringFile.encrypted(name)
    }
    option = Option(
      service: service, identifier: identifier, line: line,
      base64: Array(Self.trimmed(text[(end + 1)...])))
  }

  /// Returns a name, of which every byte other than an ASCII letter or digit is written as `_2E`.
  private func unescaped(_ text: ArraySlice<UInt8>) throws(StoreError) -> String {
    var bytes: [UInt8] = []
    var rest = text
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "_") {
        let digits = rest.prefix(2)
        rest = rest.dropFirst(2)
        guard digits.count == 2, digits.allSatisfy(Self.isHexadecimal),
          let code = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw undecodable("a name is not as keyring writes it") }
        bytes.append(code)
      } else if Self.isDigit(byte) || Self.isLetter(byte) {
        bytes.append(byte)
      } else {
        throw undecodable("a name is not as keyring writes it")
      }
    }
    guard let name = String(validating: bytes, as: UTF8.self) else {
      throw undecodable("a name is not UTF-8")
    }
    guard !bytes.isEmpty else { throw undecodable("a name has 0 bytes") }
    return name
  }

  /// Returns an error about a line, by default the one that was read last, without its content.
  private func undecodable(_ reason: String, line: Int? = nil) -> StoreError {
    StoreError(.undecodable, store: "\(name), line \(line ?? self.line)", reason: reason)
  }

  // MARK: Bytes

  private static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var text = text.drop(while: isSpace)
    while let last = text.last, isSpace(last) { text.removeLast() }
    return text
  }

  private static func isSpace(_ byte: UInt8) -> Bool { " \t\r".utf8.contains(byte) }

  private static func isDigit(_ byte: UInt8) -> Bool {
    UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20
  }

  private static func isHexadecimal(_ byte: UInt8) -> Bool {
    isDigit(byte) || UInt8(ascii: "a")...UInt8(ascii: "f") ~= byte | 0x20
  }
}
