import Dispatch
import SessionToolsBase

/// Reads the next part of a file on a thread of its own, while the part before is looked at.
///
/// To copy a file of 600 MB out of the page cache takes as long as to check its chain.
final class ReadAhead {
  /// A part that is being read, or was.
  ///
  /// The thread that reads has it from when it is begun until `isDone` is signalled, and nobody
  /// else looks at it meanwhile: this makes the unchecked conformance true.
  private final class Part: @unchecked Sendable {
    let buffer: ByteBuffer
    let isDone = DispatchSemaphore(value: 0)
    var start = 0
    var result: Result<Int, StoreError> = .success(0)

    init(byteCount: Int) {
      buffer = ByteBuffer(byteCount: byteCount)
    }
  }

  private let file: OpenFile
  // Its own, and not one that everybody's work may have filled.
  private let queue = DispatchQueue(label: "session-tools.sealed-store.read-ahead")
  private var next: Part
  private var other: Part

  /// Begins to read.
  ///
  /// - Parameters:
  ///   - file: The file.
  ///   - start: Where the first part starts.
  ///   - byteCount: The length of each part.
  init(_ file: OpenFile, from start: Int, partByteCount byteCount: Int) {
    self.file = file
    next = Part(byteCount: byteCount)
    other = Part(byteCount: byteCount)
    begin(at: start)
  }

  deinit {
    next.isDone.wait()
  }

  /// Waits for the part that is being read, and begins to read another one.
  ///
  /// - Parameter start: Where the other starts, by the range of this one.
  /// - Returns: The part, which stays as it is until the next call.
  /// - Throws: `io`.
  func advance(
    nextStart start: (Range<Int>) -> Int
  ) throws(StoreError) -> (buffer: ByteBuffer, range: Range<Int>) {
    next.isDone.wait()
    swap(&next, &other)
    let count: Int
    do throws(StoreError) {
      count = try other.result.get()
    } catch {
      // There is always one to wait for.
      next.isDone.signal()
      throw error
    }
    let range = other.start..<other.start + count
    begin(at: start(range))
    return (other.buffer, range)
  }

  private func begin(at start: Int) {
    next.start = start
    queue.async { [file, next] in
      do throws(StoreError) {
        let count = try file.read(at: start, into: next.buffer, 0..<next.buffer.byteCount)
        next.result = .success(count)
      } catch {
        next.result = .failure(error)
      }
      next.isDone.signal()
    }
  }
}
