import DatabaseStore
import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestSupport
import Testing

/// A file of `Tests/Data/Vectors/Database`: a header, rows, and the answers that a reader must give
/// for them.
@dynamicMemberLookup struct DatabaseVector: Sendable, CustomTestStringConvertible {
  let name: String
  let head: VectorHead
  private(set) var header = HeaderRow(format: 0, number: 0, leastEpoch: 0, bytes: [])
  private(set) var rows: [Row] = []

  /// The columns of a row as a server returns them.
  struct Row: Sendable {
    var namespace: [UInt8] = []
    var shard: Int16 = 0
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
        namespace: namespace, shard: shard, tag: tag, version: version, epoch: epoch,
        isGone: isGone, write: write
      ).map { SealedRow(fields: $0, nonce: nonce, name: name, value: value) }
    }
  }

  var testDescription: String { name }

  static let all: [DatabaseVector] =
    VectorHead.files(in: SourceDirectory.path + "/Tests/Data/Vectors/Database")
    .map { name, lines in
      do {
        return try DatabaseVector(name: name, lines)
      } catch {
        preconditionFailure("\(name): \(error)")
      }
    }

  /// Returns the vector of a name.
  static func named(_ name: String) throws -> DatabaseVector {
    try #require(all.first { $0.name == name })
  }

  init(name: String, _ lines: ArraySlice<Substring>) throws {
    self.name = name
    var lines = lines
    head = try VectorHead(&lines)
    guard let words = lines.popFirst()?.split(separator: " "), words.count == 5,
      words[0] == "header:", let format = Int32(words[1]), let number = Int64(words[2]),
      let leastEpoch = Int32(words[3])
    else { throw VectorHead.ParsingError(line: "header") }
    header = HeaderRow(
      format: format, number: number, leastEpoch: leastEpoch,
      bytes: try VectorHead.take(words[4], from: &lines))
    while let line = lines.popFirst() {
      if line.isEmpty, lines.isEmpty { break }
      rows.append(try Self.row(String(line), &lines))
    }
  }

  private static func row(_ line: String, _ rest: inout ArraySlice<Substring>) throws -> Row {
    let words = line.split(separator: " ")
    guard words.count == 9, words[0] == "row:", let shard = Int16(words[2]),
      let version = Int64(words[4]), let epoch = Int32(words[5])
    else { throw VectorHead.ParsingError(line: line) }
    var row = Row()
    row.namespace = try column(words[1])
    row.shard = shard
    row.tag = try column(words[3])
    row.version = version
    row.epoch = epoch
    row.isGone = words[6] == "1"
    row.write = try column(words[7])
    row.nonce = try column(words[8])
    for part in [\Row.name, \Row.value] {
      guard let words = rest.popFirst()?.split(separator: " "), words.count == 2 else {
        throw VectorHead.ParsingError(line: line)
      }
      row[keyPath: part] = try VectorHead.take(words[1], from: &rest)
    }
    return row
  }

  private static func column(_ word: Substring) throws -> [UInt8] {
    word == "-" ? [] : try VectorHead.bytes(hex: word)
  }

  subscript<Value>(dynamicMember part: KeyPath<VectorHead, Value>) -> Value {
    head[keyPath: part]
  }
}
