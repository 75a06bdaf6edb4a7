import SessionToolsBase

/// The open mark of a store, and the bytes that were read from it last.
///
/// It is only used under the lock of the store's state. This makes the unchecked conformance
/// correct.
final class OpenMark: @unchecked Sendable {
  let file: OpenFile
  private let identity: FileStatus
  // These buffers are refilled and never replaced: a `var` would be retained for every read.
  /// The bytes that were seen last.
  let seen = ByteBuffer(byteCount: Mark.byteCount)
  /// The bytes that ``isUnchanged()`` read.
  private let current = ByteBuffer(byteCount: Mark.byteCount)
  private var currentByteCount = 0

  /// Reads the mark; `nil` when there are not exactly 64 bytes.
  ///
  /// - Throws: `io`.
  init?(_ file: OpenFile) throws(StoreError) {
    self.file = file
    identity = try file.status()
    let count = try file.read(at: 0, into: seen, 0..<Mark.byteCount)
    guard identity.byteCount == Mark.byteCount, count == Mark.byteCount else { return nil }
  }

  /// Returns whether the mark still has the bytes that were seen last.
  ///
  /// - Throws: `io`.
  func isUnchanged() throws(StoreError) -> Bool {
    currentByteCount = try file.read(at: 0, into: current, 0..<Mark.byteCount)
    return currentByteCount == Mark.byteCount && current.isEqual(0..<Mark.byteCount, seen)
  }

  /// Returns the mark that ``isUnchanged()`` read; `nil` when the chain key did not make it.
  func changed(chainKey: KeyBytes) -> Mark? {
    currentByteCount == Mark.byteCount ? Mark(current, chainKey: chainKey) : nil
  }

  /// Takes the bytes that ``isUnchanged()`` read as the ones seen last.
  func take() {
    take(current)
  }

  private func take(_ bytes: ByteBuffer) {
    seen.copy(bytes, 0..<Mark.byteCount, to: 0)
  }

  /// A copy of the bytes that were seen last.
  var seenBytes: [UInt8] { seen.bytes(0..<Mark.byteCount) }

  /// Returns whether a file is the open one, and still has its length.
  func isSameFile(as status: FileStatus?) -> Bool {
    guard let status else { return false }
    return status.isSameFile(as: identity) && status.byteCount == Mark.byteCount
  }

  /// Takes a mark that is about to be written durably as the one seen last.
  func take(_ mark: Mark, chainKey: KeyBytes) {
    take(mark.encoded(chainKey: chainKey))
  }

  /// Overwrites the mark.
  ///
  /// - Throws: `noSpace`, `accessDenied` or `io`.
  func write(_ mark: Mark, chainKey: KeyBytes) throws(StoreError) {
    let bytes = mark.encoded(chainKey: chainKey)
    try file.write(bytes, 0..<Mark.byteCount, at: 0)
    take(bytes)
  }

  /// Makes a mark durable.
  ///
  /// The mark is written again, because after a failed sync the kernel marks the page as clean: a
  /// sync alone would do nothing. Do not call this under the lock of the state: it takes as long as
  /// the disk.
  ///
  /// - Throws: `noSpace`, `accessDenied` or `io`.
  static func writeDurably(_ bytes: [UInt8], to file: OpenFile) throws(StoreError) {
    try file.write(ByteBuffer(bytes), 0..<Mark.byteCount, at: 0)
    try file.synchronize()
  }

  /// The digest of this mark, for the head of a journal that replaces the marked one.
  var digest: MarkDigest { MarkDigest(of: seen) }
}
