import Glibc

/// Memory that is read, written, sealed and opened in place, every access checked against its
/// bounds.
///
/// A class, so that the memory lives as long as anyone can reach it. Not for sharing between
/// threads that write.
///
/// What is called for every record can be inlined: generic calls across modules were about a
/// tenth of the samples when a store was opened.
@usableFromInline @safe package final class ByteBuffer {
  /// The number of bytes.
  @usableFromInline package let byteCount: Int
  @usableFromInline let start: UnsafeMutableRawPointer
  /// What was allocated; `start` lies within it.
  private let allocation: UnsafeMutableRawPointer
  private let isSecret: Bool

  /// Buffers of this size and more begin with a page: `malloc` puts large ones 16 bytes behind
  /// its beginning, from where the kernel may be slow to copy.
  private static let smallestPagedByteCount = 64 << 10
  private static let pageByteCount = 4096

  /// Makes a buffer of zeros.
  ///
  /// - Parameters:
  ///   - byteCount: Its size, 0 or more.
  ///   - isSecret: Whether it is wiped before its memory is given back.
  package init(byteCount: Int, isSecret: Bool = false) {
    let isPaged = byteCount >= Self.smallestPagedByteCount
    // calloc gives large buffers as untouched zero pages, so padding costs nothing. Small ones
    // come from malloc, because glibc's calloc passes the thread's own cache by.
    guard byteCount >= 0,
      let allocation = unsafe isPaged
        ? calloc(byteCount + Self.pageByteCount, 1) : malloc(max(1, byteCount))
    else {
      preconditionFailure("no memory for \(byteCount) bytes")
    }
    if !isPaged { unsafe memset(allocation, 0, byteCount) }
    self.byteCount = byteCount
    unsafe self.allocation = allocation
    unsafe start = isPaged ? allocation.alignedUp(toMultipleOf: Self.pageByteCount) : allocation
    self.isSecret = isSecret
  }

  /// Makes a buffer with a copy of some bytes.
  package convenience init(_ bytes: [UInt8], isSecret: Bool = false) {
    self.init(byteCount: bytes.count, isSecret: isSecret)
    copy(bytes, to: 0)
  }

  deinit {
    if isSecret { unsafe explicit_bzero(start, byteCount) }
    unsafe free(allocation)
  }

  /// The memory itself, for the files that call C.
  ///
  /// It must not outlive the buffer.
  ///
  /// - Precondition: The range lies within the buffer.
  @inlinable package func pointer(to range: Range<Int>) -> UnsafeMutableRawPointer {
    check(range)
    return unsafe start + range.lowerBound
  }

  /// A little-endian integer.
  ///
  /// - Precondition: It lies within the buffer.
  @inlinable package func load<Value: FixedWidthInteger & BitwiseCopyable>(
    _ type: Value.Type, at offset: Int
  ) -> Value {
    check(offset..<offset + MemoryLayout<Value>.size)
    return unsafe Value(littleEndian: start.loadUnaligned(fromByteOffset: offset, as: type))
  }

  /// Writes an integer in little-endian form.
  ///
  /// - Precondition: It lies within the buffer.
  @inlinable package func store<Value: FixedWidthInteger & BitwiseCopyable>(
    _ value: Value, at offset: Int
  ) {
    check(offset..<offset + MemoryLayout<Value>.size)
    unsafe start.storeBytes(of: value.littleEndian, toByteOffset: offset, as: Value.self)
  }

  /// Copies bytes in.
  ///
  /// - Precondition: They fit.
  package func copy(_ bytes: [UInt8], to offset: Int) {
    check(offset..<offset + bytes.count)
    unsafe bytes.withUnsafeBytes { source in
      if let from = source.baseAddress {
        unsafe _ = memcpy(start + offset, from, source.count)
      }
    }
  }

  /// Copies the UTF-8 of a text in.
  ///
  /// - Precondition: It fits.
  package func copy(_ text: String, to offset: Int) {
    var text = text
    text.withUTF8 { source in
      check(offset..<offset + source.count)
      if let from = source.baseAddress {
        unsafe _ = memcpy(start + offset, from, source.count)
      }
    }
  }

  /// Copies a secret in.
  ///
  /// - Precondition: It fits.
  package func copy(_ secret: SecretBytes, to offset: Int) {
    check(offset..<offset + secret.byteCount)
    secret.withBytes { span in
      unsafe span.withUnsafeBytes { source in
        if let from = source.baseAddress {
          unsafe _ = memcpy(start + offset, from, source.count)
        }
      }
    }
  }

  /// Copies a part of another buffer, or of this one, in.
  ///
  /// - Precondition: Both ranges lie within their buffers.
  @inlinable package func copy(_ other: ByteBuffer, _ range: Range<Int>, to offset: Int) {
    check(offset..<offset + range.count)
    unsafe (start + offset).copyMemory(from: other.pointer(to: range), byteCount: range.count)
  }

  /// A copy of a part.
  ///
  /// - Precondition: The range lies within the buffer.
  package func bytes(_ range: Range<Int>) -> [UInt8] {
    check(range)
    return unsafe Array(UnsafeRawBufferPointer(start: start + range.lowerBound, count: range.count))
  }

  /// A copy of a part in memory that is wiped.
  ///
  /// - Precondition: The range lies within the buffer.
  package func secret(_ range: Range<Int>) -> SecretBytes {
    check(range)
    return unsafe SecretBytes(
      UnsafeRawBufferPointer(start: start + range.lowerBound, count: range.count))
  }

  /// Whether a part is the whole of another buffer.
  ///
  /// - Precondition: The range lies within the buffer.
  package func isEqual(_ range: Range<Int>, _ other: ByteBuffer) -> Bool {
    check(range)
    return unsafe range.count == other.byteCount
      && memcmp(start + range.lowerBound, other.start, range.count) == 0
  }

  /// Whether a part is nothing but zeros.
  ///
  /// - Precondition: The range lies within the buffer.
  package func isZero(_ range: Range<Int>) -> Bool {
    check(range)
    guard let first = range.first else { return true }
    // Compared with itself, one byte further on: as fast as the memory is.
    return unsafe start.load(fromByteOffset: first, as: UInt8.self) == 0
      && memcmp(start + first, start + first + 1, range.count - 1) == 0
  }

  @inlinable func check(_ range: Range<Int>) {
    precondition(
      range.lowerBound >= 0 && range.upperBound <= byteCount, "a range outside of its buffer")
  }
}

extension SecretBytes {
  /// All of some secrets, one after the other.
  package init(joining parts: [SecretBytes]) {
    let buffer = ByteBuffer(
      byteCount: parts.reduce(0) { $0 + $1.byteCount }, isSecret: true)
    var offset = 0
    for part in parts {
      buffer.copy(part, to: offset)
      offset += part.byteCount
    }
    self = buffer.secret(0..<offset)
  }
}
