public import Foundation

/// Bytes that are wiped from memory when the last reference to them is released.
///
/// They are never grown in place, so that no copy is left behind by a reallocation. Descriptions
/// and mirrors show only the length.
///
/// Only this buffer is wiped. A `String` or `Data` made from it is a separate copy that is not
/// wiped.
///
/// The bytes are written once, before the object is shared, and only read after that: this makes
/// the unchecked conformance true.
public struct SecretBytes: @unchecked Sendable {
  /// Memory that is wiped, of which these bytes may be a part.
  private let buffer: ByteBuffer
  private let range: Range<Int>

  /// Copies bytes into a buffer that is wiped when no longer used.
  public init(_ bytes: some ContiguousBytes) {
    self = unsafe bytes.withUnsafeBytes { unsafe SecretBytes(copying: $0) }
  }

  /// Copies the UTF-8 of a text.
  public init(utf8 text: String) {
    var text = text
    self = text.withUTF8 { unsafe SecretBytes(copying: UnsafeRawBufferPointer($0)) }
  }

  private init(copying bytes: UnsafeRawBufferPointer) {
    let buffer = ByteBuffer(byteCount: bytes.count, isSecret: true)
    unsafe UnsafeMutableRawBufferPointer(start: buffer.start, count: bytes.count).copyMemory(
      from: bytes)
    VectorRegisters.clear()
    self.init(in: buffer, 0..<bytes.count)
  }

  /// Uses a part of a buffer, without a copy.
  ///
  /// - Parameters:
  ///   - buffer: A wiped buffer that is not written any more.
  ///   - range: The part, within the buffer.
  package init(in buffer: ByteBuffer, _ range: Range<Int>) {
    precondition(buffer.isSecret, "a buffer that is wiped")
    buffer.check(range)
    self.buffer = buffer
    self.range = range
  }

  /// Makes a buffer of a given capacity and lets a closure fill it.
  ///
  /// - Parameters:
  ///   - capacity: The most bytes the closure may write, 0 or more.
  ///   - initialize: Appends the bytes, which become the content.
  /// - Throws: Only what the closure throws; the bytes written so far are then wiped.
  public init<Failure: Error>(
    capacity: Int, initializingWith initialize: (inout OutputRawSpan) throws(Failure) -> Void
  ) throws(Failure) {
    let buffer = ByteBuffer(byteCount: capacity, isSecret: true)
    let memory = unsafe UnsafeMutableRawBufferPointer(start: buffer.start, count: capacity)
    var output = unsafe OutputRawSpan(buffer: memory, initializedCount: 0)
    try initialize(&output)
    self.init(in: buffer, 0..<(unsafe output.finalize(for: memory)))
  }

  /// The number of bytes.
  public var byteCount: Int { range.count }

  /// Whether there are no bytes; an empty value is a value.
  public var isEmpty: Bool { byteCount == 0 }

  /// Calls a closure with the bytes, without copying them.
  public func withBytes<Result: ~Copyable, Failure: Error>(
    _ body: (RawSpan) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let start = unsafe UnsafeRawPointer(buffer.start) + range.lowerBound
    defer {
      // The closure may have called what copies.
      VectorRegisters.clear()
      withExtendedLifetime(buffer) {}
    }
    return try body(unsafe RawSpan(_unsafeStart: start, byteCount: range.count))
  }

  /// The bytes as `Data` that shares this buffer, for decoders that accept nothing else.
  ///
  /// The data must only be read: uniquely referenced `Data` is changed in place, which would change
  /// the secret for all its users. The buffer lives until the last such `Data` is released, and is
  /// then wiped. Up to 14 bytes, which `Data` always stores inline, are copied.
  package var sharedData: Data {
    guard !isEmpty else { return Data() }
    return unsafe Data(
      bytesNoCopy: buffer.start + range.lowerBound, count: range.count,
      deallocator: .custom { [buffer] _, _ in withExtendedLifetime(buffer) {} })
  }

  /// Returns a copy of the bytes that is not wiped.
  public func copyBytes() -> [UInt8] {
    buffer.bytes(range)
  }

  /// Returns the bytes as text in a copy that is not wiped; `nil` if they are not UTF-8.
  public func copyText() -> String? {
    withBytes { unsafe $0.withUnsafeBytes { unsafe String(validating: $0, as: UTF8.self) } }
  }

  /// Returns the bytes in a copy that is not wiped.
  public func copyData() -> Data { withBytes { unsafe $0.withUnsafeBytes { unsafe Data($0) } } }
}

extension SecretBytes: Equatable {
  /// Compares in time that depends only on the lengths.
  public static func == (left: SecretBytes, right: SecretBytes) -> Bool {
    guard left.byteCount == right.byteCount else { return false }
    return left.withBytes { leftBytes in
      right.withBytes { rightBytes in
        var difference: UInt8 = 0
        for offset in 0..<leftBytes.byteCount {
          let left = unsafe leftBytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
          let right = unsafe rightBytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
          difference |= left ^ right
        }
        return difference == 0
      }
    }
  }
}

extension SecretBytes {
  /// A number that hardly ever is the same for other bytes: FNV-1a of 128 bits.
  ///
  /// Anyone can make bytes with a given fingerprint. It is not a cryptographic digest, and must be
  /// kept as secret as the bytes.
  package var fingerprint: UInt128 {
    withBytes { bytes in
      var hash: UInt128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d
      for offset in 0..<bytes.byteCount {
        hash ^= UInt128(unsafe bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self))
        hash &*= 0x0000_0000_0100_0000_0000_0000_0000_013b
      }
      return hash
    }
  }
}

extension SecretBytes: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The length, never the content.
  public var description: String { "[\(byteCount) secret bytes]" }

  /// The length, never the content.
  public var debugDescription: String { description }

  /// No children, so that a dump shows nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
