import Foundation
import SealedStore
import SessionToolsBase
import Testing

/// A file of `Tests/Data/Vectors`: a store directory and the answers that a reader must give for
/// it.
///
/// The form is described in `Tests/Data/Vectors/README.md`.
struct Vector: Sendable, CustomTestStringConvertible {
  let name: String
  var expectation = ""
  var keySource: VectorKey = VectorKey()
  var items: [(key: StoreKey, value: Answer)] = []
  var reads: [(key: StoreKey, answer: Answer)] = []
  var findings: Set<String> = []
  var files: [(name: String, content: [UInt8])] = []

  enum Answer: Equatable, Sendable {
    case bytes([UInt8])
    case hash([UInt8])
    case absent
    case corrupt
  }

  struct ParsingError: Error {
    let line: String
  }

  var testDescription: String { name }

  /// Whether opening must succeed, because the vector has answers that need an open store.
  var needsOpening: Bool { !reads.isEmpty || !findings.isEmpty || expectation == "success" }

  static let all: [Vector] = {
    let directory = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../Data/Vectors").standardizedFileURL
    let files = try? FileManager.default.contentsOfDirectory(atPath: directory.path)
    return (files ?? []).filter { $0.hasSuffix(".txt") }.sorted().map { name in
      do {
        let text = try String(contentsOf: directory.appending(path: name), encoding: .ascii)
        return try Vector(name: String(name.dropLast(4)), text: text)
      } catch {
        preconditionFailure("\(name): \(error)")
      }
    }
  }()

  init(name: String, text: String) throws {
    self.name = name
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    guard let blank = lines.firstIndex(of: "") else { throw ParsingError(line: "no payload") }
    for line in lines[..<blank] {
      try parse(String(line))
    }
    var rest = lines[(blank + 1)...]
    while let line = rest.popFirst() {
      if line.isEmpty, rest.isEmpty { break }
      let parts = line.split(separator: " ")
      guard parts.count == 3, parts[0] == "file:", let length = Int(parts[2]) else {
        throw ParsingError(line: String(line))
      }
      var content: [UInt8] = []
      while content.count < length, let hex = rest.popFirst() {
        content += try Self.bytes(hex: hex)
      }
      guard content.count == length else { throw ParsingError(line: String(line)) }
      files.append((String(parts[1]), content))
    }
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
    case "named-key":
      let parts = value.split(separator: " ")
      keySource.named[String(parts[0])] = SecretBytes(try Self.bytes(hex: parts[1]))
    case "item":
      items.append(try Self.keyAndAnswer(value))
    case "read":
      let (key, answer) = try Self.keyAndAnswer(value)
      reads.append((key, answer))
    case "finding": findings.insert(value)
    default: throw ParsingError(line: line)
    }
  }

  private static func keyAndAnswer(_ text: String) throws -> (key: StoreKey, value: Answer) {
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
      case "empty": .bytes([])
      case let hash where hash.hasPrefix("blake2b:"): .hash(try bytes(hex: hash.dropFirst(8)))
      default: .bytes(try bytes(hex: parts[4]))
      }
    return (try StoreKey(identifier, in: namespace), answer)
  }

  static func bytes(hex: some StringProtocol) throws -> [UInt8] {
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

  /// Writes the store.
  func write(to path: String) throws {
    let manager = FileManager.default
    try manager.createDirectory(
      atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    for (name, content) in files {
      _ = manager.createFile(
        atPath: "\(path)/\(name)", contents: Data(content),
        attributes: [.posixPermissions: 0o600])
    }
  }
}

/// The keys of a vector's caller.
struct VectorKey: KeySource {
  var rawKey: SecretBytes?
  var passphrase: SecretBytes?
  var named: [String: SecretBytes] = [:]
  var recipientKey: SecretBytes?
  var securityKey: SecretBytes?

  func wrappingKey(for slot: KeySlot.Parameters) throws(StoreError) -> WrappingKey? {
    switch slot {
    case .rawKey: try rawKey.map { value throws(StoreError) in try WrappingKey(value) }
    case .passphrase:
      if let passphrase { try Passphrase(utf8: passphrase).wrappingKey(for: slot) } else { nil }
    case .namedKey(let reference):
      if let key = named[reference] {
        try WrappingKey(key)
      } else if let recipientKey, let slot = RecipientSlot(slot) {
        try slot.wrappingKey(openedWith: WrappingKey(recipientKey))
      } else if let securityKey {
        try SecurityKeySlot(slot)?.wrappingKey(from: securityKey)
      } else {
        nil
      }
    }
  }

  func makeSlot() throws(StoreError) -> (parameters: KeySlot.Parameters, key: WrappingKey) {
    throw StoreError(.keyMissing, store: "vector", reason: "vectors are read only")
  }
}
