package import Foundation
import SessionToolsBase

/// The operations of one process on one group of items, as a file with seven words of eight bytes
/// for each operation.
package enum HistoryFile {
  private static let wordCount = 3 + GroupState.scalarCount
  /// The size of an operation.
  static let byteCount = 8 * wordCount

  package static func write(_ operations: [HistoryOperation], to file: URL) throws {
    try data(of: operations).write(to: file)
  }

  static func data(of operations: some Collection<HistoryOperation>) -> Data {
    let buffer = ByteBuffer(byteCount: operations.count * byteCount)
    for (number, operation) in operations.enumerated() {
      let words =
        [operation.kind.rawValue, operation.invoked, operation.responded]
        + (0..<GroupState.scalarCount).map { operation.items[$0] }
      for (position, word) in words.enumerated() {
        buffer.store(word, at: number * byteCount + 8 * position)
      }
    }
    return Data(buffer.bytes(0..<buffer.byteCount))
  }

  package static func read(_ file: URL) throws -> [HistoryOperation] {
    let buffer = ByteBuffer([UInt8](try Data(contentsOf: file)))
    guard buffer.byteCount.isMultiple(of: byteCount) else { throw CocoaError(.fileReadCorruptFile) }
    return try stride(from: 0, to: buffer.byteCount, by: byteCount).map { start in
      func word(_ position: Int) -> UInt64 { buffer.load(UInt64.self, at: start + 8 * position) }
      guard let kind = HistoryOperation.Kind(rawValue: word(0)) else {
        throw CocoaError(.fileReadCorruptFile)
      }
      var items = GroupState.zero
      for item in 0..<GroupState.scalarCount { items[item] = word(3 + item) }
      return HistoryOperation(kind, items, invoked: word(1), responded: word(2))
    }
  }
}
