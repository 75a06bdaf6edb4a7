package import Foundation
import SessionToolsBase

/// The operations of one process on one group of items, as a file of batches.
///
/// A batch is a word, which is how many operations follow it, and seven words for each; a word is
/// eight bytes. If the first word has all bits, the one change that follows was about to be made:
/// what the next batch says holds in its place. The last batch may be cut off, since a process may
/// be killed while it writes, and counts as not written.
package enum HistoryFile {
  private static let wordCount = 3 + GroupState.scalarCount
  private static let operationSize = 8 * wordCount

  package static func write(_ operations: [HistoryOperation], to file: URL) throws {
    try batch(of: operations).write(to: file)
  }

  static func batch(of operations: some Collection<HistoryOperation>) -> Data {
    batch(operations, startingWith: UInt64(operations.count))
  }

  static func batch(ofBegun change: HistoryOperation) -> Data {
    batch([change], startingWith: .max)
  }

  private static func batch(
    _ operations: some Collection<HistoryOperation>, startingWith first: UInt64
  ) -> Data {
    let buffer = ByteBuffer(byteCount: 8 + operations.count * operationSize)
    buffer.store(first, at: 0)
    for (number, operation) in operations.enumerated() {
      let words =
        [operation.kind.rawValue, operation.invoked, operation.responded]
        + (0..<GroupState.scalarCount).map { operation.items[$0] }
      for (position, word) in words.enumerated() {
        buffer.store(word, at: 8 + number * operationSize + 8 * position)
      }
    }
    return Data(buffer.bytes(0..<buffer.byteCount))
  }

  package static func read(_ file: URL) throws -> [HistoryOperation] {
    let buffer = ByteBuffer([UInt8](try Data(contentsOf: file)))
    var operations: [HistoryOperation] = []
    var begun: HistoryOperation?
    var position = 0
    while position + 8 <= buffer.byteCount {
      let word = buffer.load(UInt64.self, at: position)
      let isBegun = word == .max
      let start = position + 8
      guard let count = isBegun ? 1 : Int(exactly: word),
        count <= (buffer.byteCount - start) / operationSize
      else { break }
      position = start + count * operationSize
      let batch = try stride(from: start, to: position, by: operationSize).map {
        try operation(at: $0, in: buffer)
      }
      begun = isBegun ? batch[0] : nil
      if !isBegun { operations += batch }
    }
    if let begun { operations.append(begun) }
    return operations
  }

  private static func operation(at start: Int, in buffer: ByteBuffer) throws -> HistoryOperation {
    func word(_ position: Int) -> UInt64 { buffer.load(UInt64.self, at: start + 8 * position) }
    guard let kind = HistoryOperation.Kind(rawValue: word(0)) else {
      throw CocoaError(.fileReadCorruptFile)
    }
    var items = GroupState.zero
    for item in 0..<GroupState.scalarCount { items[item] = word(3 + item) }
    return HistoryOperation(kind, items, invoked: word(1), responded: word(2))
  }
}
