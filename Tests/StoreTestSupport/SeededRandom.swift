import CSodium
import SealedStore
package import SessionToolsBase
import Synchronization

/// Random bytes that are the same every time.
///
/// The n-th request is answered from the seed and n alone. Nothing is kept of what was handed
/// out.
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

  /// What the n-th request, from 1, for so many bytes is answered with.
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

/// Random bytes from a list, one entry a request, in order.
package final class ListedRandom: RandomSource {
  private let rest: Mutex<ArraySlice<[UInt8]>>

  package init(_ answers: [[UInt8]]) {
    rest = Mutex(answers[...])
  }

  /// Whether every entry was asked for.
  package var isUsedUp: Bool { rest.withLock { $0.isEmpty } }

  package func fill(_ buffer: ByteBuffer, _ range: Range<Int>) {
    guard let bytes = rest.withLock({ $0.popFirst() }) else {
      preconditionFailure("more random bytes were asked for than are listed")
    }
    precondition(bytes.count == range.count, "\(range.count) bytes asked for")
    buffer.copy(bytes, to: range.lowerBound)
  }
}
