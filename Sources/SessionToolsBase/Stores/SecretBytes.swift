public import Foundation
import Glibc

/// Bytes that are wiped from memory when the last reference to them goes.
///
/// Never larger than they were made, never grown in place, so that no copy is left behind by
/// a reallocation. Descriptions and mirrors show the length and nothing else.
///
/// What is wiped is this buffer. A `String` or `Data` made from it is a copy of its own that
/// nobody wipes.
///
/// Written once, before anyone else can see it, and only read after that: this makes the
/// unchecked conformance true.
public struct SecretBytes: @unchecked Sendable {
  private let storage: Storage

  /// Copies bytes into a buffer that is wiped when no longer used.
  public init(_ bytes: some ContiguousBytes) {
    self.storage = unsafe bytes.withUnsafeBytes { unsafe Storage.copying($0) }
  }

  /// Copies the UTF-8 of a text.
  public init(utf8 text: String) {
    var text = text
    self.storage = text.withUTF8 { unsafe Storage.copying(UnsafeRawBufferPointer($0)) }
  }

  /// Makes a buffer of a given capacity and lets a closure fill it.
  ///
  /// - Parameters:
  ///   - capacity: The most bytes the closure may write, 0 or more.
  ///   - initialize: Appends the bytes; what it appended is the content.
  /// - Throws: Only what the closure throws; the bytes written so far are wiped then.
  public init<Failure: Error>(
    capacity: Int, initializingWith initialize: (inout OutputRawSpan) throws(Failure) -> Void
  ) throws(Failure) {
    let storage = Storage.make(capacity: capacity)
    try storage.fill(initialize)
    self.storage = storage
  }

  /// The number of bytes.
  public var byteCount: Int { storage.count }

  /// Whether there are no bytes; an empty value is a value.
  public var isEmpty: Bool { byteCount == 0 }

  /// Calls a closure with the bytes, without copying them.
  public func withBytes<Result: ~Copyable, Failure: Error>(
    _ body: (RawSpan) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try storage.withBytes(body)
  }

  /// The bytes as `Data` that shares this buffer, for decoders that take nothing else.
  ///
  /// Only to be read: `Data` that nobody else refers to is changed in place, which would change
  /// the secret under everyone who has it. The buffer lives, and is wiped, with the last such
  /// `Data`. Up to 14 bytes, which `Data` always keeps inside itself, are copied.
  package var sharedData: Data {
    storage.sharedData
  }

  /// A copy of the bytes that nobody wipes.
  public func copyBytes() -> [UInt8] {
    storage.withBytes { span in unsafe span.withUnsafeBytes { unsafe Array($0) } }
  }
}

extension SecretBytes: Equatable {
  /// Compares in time that depends on the lengths only.
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
  /// A number that other bytes hardly ever have: FNV-1a of 128 bits.
  ///
  /// Anyone can make bytes with a given one. It is no digest to rely on, and as secret as the bytes.
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

  /// No children: a dump shows nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

extension SecretBytes {
  struct Header {
    var count: Int
    let capacity: Int
  }

  /// One allocation for header and bytes.
  final class Storage: ManagedBuffer<Header, UInt8> {
    static func make(capacity: Int) -> Storage {
      precondition(capacity >= 0, "a capacity is not negative")
      let buffer = Storage.create(minimumCapacity: capacity) { _ in
        Header(count: 0, capacity: capacity)
      }
      return unsafe unsafeDowncast(buffer, to: Storage.self)
    }

    static func copying(_ bytes: UnsafeRawBufferPointer) -> Storage {
      let storage = make(capacity: bytes.count)
      if let source = bytes.baseAddress {
        unsafe storage.withUnsafeMutablePointerToElements { elements in
          unsafe _ = memcpy(elements, source, bytes.count)
        }
      }
      storage.count = bytes.count
      return storage
    }

    // By way of a pointer: `header` itself is checked for exclusive access each time.
    fileprivate(set) var count: Int {
      get { unsafe withUnsafeMutablePointerToHeader { unsafe $0.pointee.count } }
      set { unsafe withUnsafeMutablePointerToHeader { unsafe $0.pointee.count = newValue } }
    }

    private var byteCapacity: Int {
      unsafe withUnsafeMutablePointerToHeader { unsafe $0.pointee.capacity }
    }

    func fill<Failure: Error>(
      _ initialize: (inout OutputRawSpan) throws(Failure) -> Void
    ) throws(Failure) {
      let capacity = byteCapacity
      let start = unsafe withUnsafeMutablePointerToElements { UnsafeMutableRawPointer($0) }
      let buffer = unsafe UnsafeMutableRawBufferPointer(start: start, count: capacity)
      var output = unsafe OutputRawSpan(buffer: buffer, initializedCount: 0)
      try initialize(&output)
      count = unsafe output.finalize(for: buffer)
    }

    func withBytes<Result: ~Copyable, Failure: Error>(
      _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
      let count = count
      let start = unsafe withUnsafeMutablePointerToElements { UnsafeRawPointer($0) }
      defer { withExtendedLifetime(self) {} }
      return try body(unsafe RawSpan(_unsafeStart: start, byteCount: count))
    }

    var sharedData: Data {
      let count = count
      guard count > 0 else { return Data() }
      let start = unsafe withUnsafeMutablePointerToElements { UnsafeMutableRawPointer($0) }
      return unsafe Data(
        bytesNoCopy: start, count: count,
        deallocator: .custom { _, _ in withExtendedLifetime(self) {} })
    }

    deinit {
      let capacity = byteCapacity
      // explicit_bzero: a memset before a free is one that compilers remove.
      unsafe withUnsafeMutablePointerToElements { unsafe explicit_bzero($0, capacity) }
    }
  }
}
