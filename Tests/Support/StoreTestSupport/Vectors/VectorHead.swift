import Foundation
package import SessionToolsBase

/// What a vector's file begins with: the caller's keys, and the answers that a reader must give.
///
/// The form is described in `Tests/Data/Vectors/README.md`.
package struct VectorHead: Sendable {
  package private(set) var expectation = ""
  package private(set) var keySource = VectorKey()
  package private(set) var items: [(name: ItemName, value: Answer)] = []
  package private(set) var reads: [(name: ItemName, value: Answer)] = []
  package private(set) var findings: Set<String> = []

  package enum Answer: Equatable, Sendable {
    case bytes([UInt8])
    case hash([UInt8])
    case absent
    case corrupt
    case keyMissing
  }

  package struct ParsingError: Error {
    let line: String

    package init(line: String) {
      self.line = line
    }
  }

  /// Reads the lines up to an empty one, and takes them and that away.
  package init(_ lines: inout ArraySlice<Substring>) throws {
    while let line = lines.popFirst(), !line.isEmpty { try parse(String(line)) }
  }

  /// Returns the lines of each file in a directory, with its name, in the order of the names.
  package static func files(in directory: String) -> [(name: String, lines: ArraySlice<Substring>)]
  {
    let files = try? FileManager.default.contentsOfDirectory(atPath: directory)
    return (files ?? []).filter { $0.hasSuffix(".txt") }.sorted().map { name in
      guard let text = try? String(contentsOfFile: "\(directory)/\(name)", encoding: .ascii) else {
        preconditionFailure("\(name) cannot be read")
      }
      return (String(name.dropLast(4)), lines(of: text))
    }
  }

  package static func lines(of text: String) -> ArraySlice<Substring> {
    text.split(separator: "\n", omittingEmptySubsequences: false)[...]
  }

  /// Takes a number of bytes, which are on one or more lines, away from the front.
  package static func take(
    _ length: Substring, from lines: inout ArraySlice<Substring>
  ) throws -> [UInt8] {
    guard let length = Int(length) else { throw ParsingError(line: String(length)) }
    var content: [UInt8] = []
    while content.count < length, let hex = lines.popFirst() { content += try bytes(hex: hex) }
    guard content.count == length else { throw ParsingError(line: "\(length) bytes") }
    return content
  }

  package static func bytes(hex: some StringProtocol) throws -> [UInt8] {
    var bytes: [UInt8] = []
    var digits = hex.utf8[...]
    while let high = digits.popFirst() {
      guard let low = digits.popFirst(),
        let byte = UInt8(String(decoding: [high, low], as: UTF8.self), radix: 16)
      else { throw ParsingError(line: String(hex)) }
      bytes.append(byte)
    }
    return bytes
  }

  private mutating func parse(_ line: String) throws {
    guard let colon = line.firstRange(of: ": ") else { throw ParsingError(line: line) }
    let value = String(line[colon.upperBound...])
    switch line[..<colon.lowerBound] {
    case "expect": expectation = value
    case "comment": break
    case "raw-key": keySource.rawKey = SecretBytes(try Self.bytes(hex: value))
    case "passphrase": keySource.passphrase = SecretBytes(utf8: value)
    case "passphrase-hex": keySource.passphrase = SecretBytes(try Self.bytes(hex: value))
    case "recipient-key":
      keySource.recipientKey = SecretBytes(try Self.bytes(hex: value))
    case "security-key":
      keySource.securityKey = SecretBytes(try Self.bytes(hex: value))
    case "app-secret":
      keySource.appSecret = SecretBytes(try Self.bytes(hex: value))
    case "named-key":
      let parts = value.split(separator: " ")
      keySource.named[String(parts[0])] = SecretBytes(try Self.bytes(hex: parts[1]))
    case "item": items.append(try Self.keyAndAnswer(value))
    case "read": reads.append(try Self.keyAndAnswer(value))
    case "finding": findings.insert(value)
    default: throw ParsingError(line: line)
    }
  }

  private static func keyAndAnswer(_ text: String) throws -> (name: ItemName, value: Answer) {
    let parts = text.split(separator: " ")
    guard parts.count == 5 else { throw ParsingError(line: text) }
    let names = try parts[..<4].map { part -> String? in
      part == "-" ? nil : String(decoding: try bytes(hex: part), as: UTF8.self)
    }
    guard let service = names[0], let identifier = names[3] else {
      throw ParsingError(line: text)
    }
    let namespace = try StoreNamespace(
      service: service, accessGroup: names[1],
      install: names[2].map(InstallIdentifier.init(rawValue:)))
    let answer: Answer =
      switch parts[4] {
      case "absent": .absent
      case "corrupt": .corrupt
      case "key-missing": .keyMissing
      case "empty": .bytes([])
      case let hash where hash.hasPrefix("blake2b:"): .hash(try bytes(hex: hash.dropFirst(8)))
      default: .bytes(try bytes(hex: parts[4]))
      }
    return (try ItemName(identifier, in: namespace), answer)
  }
}
