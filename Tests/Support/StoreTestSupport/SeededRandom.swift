import CSessionToolsSodium
import SealedStore
package import SessionToolsBase
import Synchronization

/// Random bytes that are the same every time: the n-th request of a source is answered from its
/// seed and n alone.
///
/// The source keeps none of the bytes that it handed out.
package final class SeededRandom: RandomSource {
  private let seed: UInt64
  private let count = Atomic<UInt64>(0)

  package init(seed: UInt64) {
    self.seed = seed
  }

  package func fill(_ buffer: ByteBuffer, _ range: Range<Int>) {
    let number = count.wrappingAdd(1, ordering: .relaxed).newValue
    Self.fill(buffer, range, seed: seed, number: number)
  }

  /// Returns the bytes that answer the n-th request, counted from 1, for that many bytes.
  package static func bytes(_ byteCount: Int, seed: UInt64, number: UInt64) -> [UInt8] {
    let buffer = ByteBuffer(byteCount: byteCount)
    fill(buffer, 0..<byteCount, seed: seed, number: number)
    return buffer.bytes(0..<byteCount)
  }

  private static func fill(
    _ buffer: ByteBuffer, _ range: Range<Int>, seed: UInt64, number: UInt64
  ) {
    var words = [seed.littleEndian, number.littleEndian, 0, 0]
    unsafe words.withUnsafeMutableBytes { words in
      guard let start = words.baseAddress else { return }
      unsafe randombytes_buf_deterministic(
        buffer.pointer(to: range), range.count, start.assumingMemoryBound(to: UInt8.self))
    }
  }
}

/// Random bytes from a list, in order; a request takes one entry or several whole ones.
package final class ListedRandom: RandomSource {
  private let rest: Mutex<ArraySlice<[UInt8]>>

  package init(_ answers: [[UInt8]]) {
    rest = Mutex(answers[...])
  }

  /// Whether every entry was handed out.
  package var isUsedUp: Bool { rest.withLock { $0.isEmpty } }

  package func fill(_ buffer: ByteBuffer, _ range: Range<Int>) {
    var offset = range.lowerBound
    while offset < range.upperBound {
      guard let bytes = rest.withLock({ $0.popFirst() }) else {
        preconditionFailure("more random bytes were asked for than are listed")
      }
      precondition(
        offset + bytes.count <= range.upperBound,
        "whole entries do not make up the \(range.count) bytes that were asked for")
      buffer.copy(bytes, to: offset)
      offset += bytes.count
    }
  }
}
