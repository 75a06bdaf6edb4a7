import SessionToolsBase

/// The open mark of a store, and what was read from it last.
///
/// Only touched under the lock of the store's state: this makes the unchecked conformance true.
final class OpenMark: @unchecked Sendable {
  let file: OpenFile
  private let identity: FileStatus
  // Filled again and again and never exchanged: what may be exchanged is retained for every read.
  /// The bytes that were seen last.
  let seen = ByteBuffer(byteCount: Mark.byteCount)
  /// What ``isUnchanged()`` read, and how much that was.
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

  /// Whether the mark is still what was seen last.
  ///
  /// - Throws: `io`.
  func isUnchanged() throws(StoreError) -> Bool {
    currentByteCount = try file.read(at: 0, into: current, 0..<Mark.byteCount)
    return currentByteCount == Mark.byteCount && current.isEqual(0..<Mark.byteCount, seen)
  }

  /// The mark that ``isUnchanged()`` read; `nil` when the chain key did not make it.
  func changed(chainKey: KeyBytes) -> Mark? {
    currentByteCount == Mark.byteCount ? Mark(current, chainKey: chainKey) : nil
  }

  /// Takes what ``isUnchanged()`` read for seen.
  func take() {
    take(current)
  }

  private func take(_ bytes: ByteBuffer) {
    seen.copy(bytes, 0..<Mark.byteCount, to: 0)
  }

  /// A copy of the bytes that were seen last.
  var seenBytes: [UInt8] { seen.bytes(0..<Mark.byteCount) }

  /// Whether a file is the one that is open, still of its length.
  func isSameFile(as status: FileStatus?) -> Bool {
    guard let status else { return false }
    return status.isSameFile(as: identity) && status.byteCount == Mark.byteCount
  }

  /// Takes a mark that is about to be written durably.
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
  /// Written again, because after a sync that failed the kernel calls the page clean: syncing alone
  /// would do nothing. Not under the lock of the state, since it takes as long as the disk.
  ///
  /// - Throws: `noSpace`, `accessDenied` or `io`.
  static func writeDurably(_ bytes: [UInt8], to file: OpenFile) throws(StoreError) {
    try file.write(ByteBuffer(bytes), 0..<Mark.byteCount, at: 0)
    try file.synchronize()
  }

  /// What a journal keeps of this mark when it takes the place of the marked one.
  var digest: MarkDigest { MarkDigest(of: seen) }
}
