import DatabaseStore
import Foundation
import SealedStore
import SessionToolsBase
import TestSupport
import Testing

/// A file of `Tests/Data/Vectors/Database`: a header, rows, and the answers that a reader must give
/// for them.
///
/// The form is described in the README beside the files.
struct DatabaseVector: Sendable, CustomTestStringConvertible {
  let name: String
  private(set) var expectation = ""
  private(set) var keySource = VectorKey()
  private(set) var items: [(key: StoreKey, value: Answer)] = []
  private(set) var reads: [(key: StoreKey, value: Answer)] = []
  private(set) var header = HeaderRow(format: 0, number: 0, leastEpoch: 0, bytes: [])
  private(set) var rows: [Row] = []

  enum Answer: Equatable, Sendable {
    case bytes([UInt8])
    case hash([UInt8])
    case absent
    case corrupt
    case keyMissing
  }

  /// The columns of a row as a server returns them.
  struct Row: Sendable {
    var namespace: [UInt8] = []
    var place: Int16 = 0
    var tag: [UInt8] = []
    var version: Int64 = 0
    var epoch: Int32 = 0
    var isGone = false
    var write: [UInt8] = []
    var nonce: [UInt8] = []
    var name: [UInt8] = []
    var value: [UInt8] = []

    /// The row, sealed; `nil` when no writer makes such columns.
    var sealed: SealedRow? {
      RowFields(
        namespace: namespace, place: place, tag: tag, version: version, epoch: epoch,
        isGone: isGone, write: write
      ).map { SealedRow(fields: $0, nonce: nonce, name: name, value: value) }
    }
  }

  struct ParsingError: Error {
    let line: String
  }

  var testDescription: String { name }

  static let all: [DatabaseVector] = {
    let directory = URL(filePath: SourceDirectory.path + "/Tests/Data/Vectors/Database")
    let files = try? FileManager.default.contentsOfDirectory(atPath: directory.path)
    return (files ?? []).filter { $0.hasSuffix(".txt") }.sorted().map { name in
      do {
        let text = try String(contentsOf: directory.appending(path: name), encoding: .ascii)
        return try DatabaseVector(name: String(name.dropLast(4)), text: text)
      } catch {
        preconditionFailure("\(name): \(error)")
      }
    }
  }()

  /// Returns the vector of a name.
  static func named(_ name: String) throws -> DatabaseVector {
    try #require(all.first { $0.name == name })
  }

  init(name: String, text: String) throws {
    self.name = name
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false)[...]
    while let line = lines.popFirst(), !line.isEmpty {
      try parse(String(line))
    }
    guard let words = lines.popFirst()?.split(separator: " "), words.count == 5,
      words[0] == "header:", let format = Int32(words[1]), let number = Int64(words[2]),
      let leastEpoch = Int32(words[3])
    else { throw ParsingError(line: "header") }
    header = HeaderRow(
      format: format, number: number, leastEpoch: leastEpoch,
      bytes: try Self.take(words[4], from: &lines))
    while let line = lines.popFirst() {
      if line.isEmpty, lines.isEmpty { break }
      rows.append(try Self.row(String(line), &lines))
    }
  }

  private static func row(_ line: String, _ rest: inout ArraySlice<Substring>) throws -> Row {
    let words = line.split(separator: " ")
    guard words.count == 9, words[0] == "row:", let place = Int16(words[2]),
      let version = Int64(words[4]), let epoch = Int32(words[5])
    else { throw ParsingError(line: line) }
    var row = Row()
    row.namespace = try column(words[1])
    row.place = place
    row.tag = try column(words[3])
    row.version = version
    row.epoch = epoch
    row.isGone = words[6] == "1"
    row.write = try column(words[7])
    row.nonce = try column(words[8])
    for part in [\Row.name, \Row.value] {
      guard let words = rest.popFirst()?.split(separator: " "), words.count == 2 else {
        throw ParsingError(line: line)
      }
      row[keyPath: part] = try take(words[1], from: &rest)
    }
    return row
  }

  private static func column(_ word: Substring) throws -> [UInt8] {
    word == "-" ? [] : try bytes(hex: word)
  }

  private static func take(
    _ length: Substring, from rest: inout ArraySlice<Substring>
  ) throws -> [UInt8] {
    guard let length = Int(length) else { throw ParsingError(line: String(length)) }
    var content: [UInt8] = []
    while content.count < length, let hex = rest.popFirst() {
      content += try bytes(hex: hex)
    }
    guard content.count == length else { throw ParsingError(line: "too few bytes") }
    return content
  }

  private mutating func parse(_ line: String) throws {
    guard let colon = line.firstRange(of: ": ") else { throw ParsingError(line: line) }
    let value = String(line[colon.upperBound...])
    switch line[..<colon.lowerBound] {
    case "expect": expectation = value
    case "comment": break
    case "raw-key": keySource.rawKey = SecretBytes(try Self.bytes(hex: value))
    case "passphrase": keySource.passphrase = SecretBytes(utf8: value)
    case "named-key":
      let parts = value.split(separator: " ")
      keySource.named[String(parts[0])] = SecretBytes(try Self.bytes(hex: parts[1]))
    case "item": items.append(try Self.keyAndAnswer(value))
    case "read": reads.append(try Self.keyAndAnswer(value))
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
      case "key-missing": .keyMissing
      case "empty": .bytes([])
      case let hash where hash.hasPrefix("blake2b:"): .hash(try bytes(hex: hash.dropFirst(8)))
      default: .bytes(try bytes(hex: parts[4]))
      }
    return (try StoreKey(identifier, in: namespace), answer)
  }

  private static func bytes(hex: some StringProtocol) throws -> [UInt8] {
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
}

/// The keys of a vector's caller.
struct VectorKey: KeySource {
  var rawKey: SecretBytes?
  var passphrase: SecretBytes?
  var named: [String: SecretBytes] = [:]

  func wrappingKey(for slot: KeySlot.Parameters) throws(StoreError) -> WrappingKey? {
    switch slot {
    case .rawKey: try rawKey.map { value throws(StoreError) in try WrappingKey(value) }
    case .passphrase:
      if let passphrase { try Passphrase(utf8: passphrase).wrappingKey(for: slot) } else { nil }
    case .namedKey(let reference):
      try named[reference].map { value throws(StoreError) in try WrappingKey(value) }
    }
  }

  func checkCost(of slots: [KeySlot.Parameters]) throws(StoreError) {
    if let passphrase { try Passphrase(utf8: passphrase).checkCost(of: slots) }
  }

  func makeSlot() throws(StoreError) -> (parameters: KeySlot.Parameters, key: WrappingKey) {
    throw StoreError(.keyMissing, store: "vector", reason: "vectors are read only")
  }
}
