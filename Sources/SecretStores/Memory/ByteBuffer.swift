import Glibc

/// Memory that is read, written, sealed and opened in place, every access checked against its
/// bounds.
///
/// Copies of a buffer share its memory, which lives until the last of them is released. Threads
/// that write must not share a buffer.
///
/// Functions called for every record can be inlined: generic calls across modules were about a
/// tenth of the samples when a store was opened.
@usableFromInline @safe package struct ByteBuffer {
  @usableFromInline let memory: Memory

  /// Buffers of this size and more begin at a page boundary: `malloc` puts large ones 16 bytes
  /// behind it, from where the kernel may be slow to copy.
  private static let minimumPagedByteCount = 64 << 10

  /// Makes a buffer of zeros.
  ///
  /// - Parameters:
  ///   - byteCount: Its size, 0 or more.
  ///   - isSecret: Whether the memory is wiped before it is freed.
  package init(byteCount: Int, isSecret: Bool = false) {
    self.init(unwrittenByteCount: byteCount, isSecret: isSecret)
    // Large ones are already zero.
    if byteCount < Self.minimumPagedByteCount { unsafe memset(start, 0, byteCount) }
  }

  /// Makes a buffer without zeroing it; the caller writes every byte before reading it.
  package init(unwrittenByteCount byteCount: Int, isSecret: Bool) {
    precondition(byteCount >= 0, "a size is not negative")
    memory =
      byteCount >= Self.minimumPagedByteCount
      ? .paged(byteCount: byteCount, isSecret: isSecret)
      : .small(byteCount: byteCount, isSecret: isSecret)
  }

  /// The number of bytes.
  @inlinable package var byteCount: Int { memory.byteCount }
  @inlinable var start: UnsafeMutableRawPointer { unsafe memory.start }

  /// Makes a buffer with a copy of some bytes.
  package init(_ bytes: [UInt8], isSecret: Bool = false) {
    self.init(byteCount: bytes.count, isSecret: isSecret)
    copy(bytes, to: 0)
  }

  /// Returns the memory itself, for the files that call C.
  ///
  /// It must not outlive the buffer.
  ///
  /// - Precondition: The range lies within the buffer.
  @inlinable package func pointer(to range: Range<Int>) -> UnsafeMutableRawPointer {
    check(range)
    return unsafe start + range.lowerBound
  }

  /// Returns a little-endian integer.
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
    let bytes = unsafe text.utf8Span.span.bytes
    check(offset..<offset + bytes.byteCount)
    unsafe bytes.withUnsafeBytes { source in
      guard let from = source.baseAddress else { return }
      unsafe (start + offset).copyMemory(from: from, byteCount: source.count)
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
    copy(other, at: range.lowerBound, byteCount: range.count, to: offset)
  }

  /// Copies some bytes of another buffer in, without a call where the compiler knows how many.
  ///
  /// - Precondition: They lie within both buffers.
  @inlinable @inline(__always) package func copy(
    _ other: borrowing ByteBuffer, at start: Int, byteCount: Int, to offset: Int
  ) {
    check(offset..<offset + byteCount)
    other.check(start..<start + byteCount)
    unsafe (self.start + offset).copyMemory(from: other.start + start, byteCount: byteCount)
  }

  /// Returns a copy of a part.
  ///
  /// - Precondition: The range lies within the buffer.
  package func bytes(_ range: Range<Int>) -> [UInt8] {
    check(range)
    return unsafe Array(UnsafeRawBufferPointer(start: start + range.lowerBound, count: range.count))
  }

  /// Returns a part as text; `nil` when it is not UTF-8.
  ///
  /// - Precondition: The range lies within the buffer.
  package func text(_ range: Range<Int>) -> String? {
    check(range)
    let bytes = unsafe UnsafeBufferPointer(
      start: (start + range.lowerBound).assumingMemoryBound(to: UInt8.self), count: range.count)
    // Several times as fast as `String(validating:as:)`, which looks up its types at run time.
    return try? unsafe String(copying: UTF8Span(validating: bytes.span))
  }

  /// Whether the memory is wiped before it is freed.
  package var isSecret: Bool { memory.isSecret }

  /// Returns a copy of a part in memory that is wiped.
  ///
  /// - Precondition: The range lies within the buffer.
  package func secret(_ range: Range<Int>) -> SecretBytes {
    check(range)
    return unsafe SecretBytes(
      UnsafeRawBufferPointer(start: start + range.lowerBound, count: range.count))
  }

  /// Returns whether a part equals the whole of another buffer.
  ///
  /// - Precondition: The range lies within the buffer.
  package func isEqual(_ range: Range<Int>, _ other: ByteBuffer) -> Bool {
    check(range)
    return unsafe range.count == other.byteCount
      && memcmp(start + range.lowerBound, other.start, range.count) == 0
  }

  /// Returns whether a part contains only zeros.
  ///
  /// - Precondition: The range lies within the buffer.
  package func isZero(_ range: Range<Int>) -> Bool {
    check(range)
    guard let first = range.first else { return true }
    // Compared with itself, one byte further on, at the speed of the memory.
    return unsafe start.load(fromByteOffset: first, as: UInt8.self) == 0
      && memcmp(start + first, start + first + 1, range.count - 1) == 0
  }

  /// Finds the start of a part's trailing zeros.
  ///
  /// - Precondition: The range lies within the buffer.
  package func startOfTrailingZeros(in range: Range<Int>) -> Int {
    var end = range.upperBound
    while end > range.lowerBound {
      let start = max(range.lowerBound, end - 512)
      guard isZero(start..<end) else { break }
      end = start
    }
    while end > range.lowerBound, load(UInt8.self, at: end - 1) == 0 { end -= 1 }
    return end
  }

  @inlinable func check(_ range: Range<Int>) {
    precondition(
      range.lowerBound >= 0 && range.upperBound <= byteCount, "a range outside of its buffer")
  }
}

extension ByteBuffer {
  /// Memory of a buffer; small memory is in the object itself, so that it costs one allocation.
  @usableFromInline @safe final class Memory: ManagedBuffer<Memory.Header, UInt8> {
    @usableFromInline @safe struct Header {
      @usableFromInline let byteCount: Int
      @usableFromInline let start: UnsafeMutableRawPointer
      /// The allocation outside the object; `start` lies within it.
      let pages: UnsafeMutableRawPointer?
      let isSecret: Bool
    }

    private static let pageByteCount = 4096

    static func small(byteCount: Int, isSecret: Bool) -> Memory {
      let memory = Memory.create(minimumCapacity: byteCount) { memory in
        unsafe memory.withUnsafeMutablePointerToElements { start in
          unsafe Header(
            byteCount: byteCount, start: UnsafeMutableRawPointer(start), pages: nil,
            isSecret: isSecret)
        }
      }
      return unsafe unsafeDowncast(memory, to: Memory.self)
    }

    static func paged(byteCount: Int, isSecret: Bool) -> Memory {
      // calloc returns large buffers as untouched zero pages, so padding costs nothing.
      guard let pages = unsafe calloc(byteCount + pageByteCount, 1) else {
        preconditionFailure("no memory for \(byteCount) bytes")
      }
      let memory = Memory.create(minimumCapacity: 0) { _ in
        unsafe Header(
          byteCount: byteCount, start: pages.alignedUp(toMultipleOf: pageByteCount), pages: pages,
          isSecret: isSecret)
      }
      return unsafe unsafeDowncast(memory, to: Memory.self)
    }

    // Through a pointer: each access to `header` itself is checked for exclusivity.
    @inlinable var byteCount: Int {
      unsafe withUnsafeMutablePointerToHeader { unsafe $0.pointee.byteCount }
    }

    @inlinable var start: UnsafeMutableRawPointer {
      unsafe withUnsafeMutablePointerToHeader { unsafe $0.pointee.start }
    }

    var isSecret: Bool {
      unsafe withUnsafeMutablePointerToHeader { unsafe $0.pointee.isSecret }
    }

    deinit {
      let header = unsafe withUnsafeMutablePointerToHeader { unsafe $0.pointee }
      if header.isSecret { unsafe explicit_bzero(header.start, header.byteCount) }
      unsafe free(header.pages)
    }
  }
}

extension SecretBytes {
  /// Joins several secrets into one, in their order.
  package init(joining parts: [SecretBytes]) {
    let buffer = ByteBuffer(
      byteCount: parts.reduce(0) { $0 + $1.byteCount }, isSecret: true)
    var offset = 0
    for part in parts {
      buffer.copy(part, to: offset)
      offset += part.byteCount
    }
    self.init(in: buffer, 0..<offset)
  }
}
