import Foundation
import SealedStore
import SessionToolsBase
import StoreTestSupport
import TestThreads
import Testing

/// Headers and heads that break a rule of the format, made by somebody who knows how to mend a
/// checksum.
///
/// The MAC would tell as well, but what is listed without a key is not protected by it.
@Suite(.onOwnThread) struct ForgedHeaderTests {
  let scratch: Scratch
  private let header: [UInt8]

  init() throws {
    scratch = try Scratch()
    let store = try scratch.create()
    try store.put("value", as: "item")
    header = try scratch.bytes(of: "header")
  }

  /// Puts the same bytes in both headers, with the checksum that belongs to them.
  private func forge(_ forged: [UInt8]) throws {
    let bytes = Checksum.mended(forged)
    for name in ["header", "header.copy"] { try scratch.overwrite(name, with: bytes) }
  }

  private func isListed() throws -> StoreError.Code? {
    let listing = try code { _ = try SealedFileStore.keySlots(at: scratch.path) }
    #expect(try code { _ = try SealedFileStore.identifier(at: scratch.path) } == listing)
    #expect(try code { _ = try scratch.open() } == listing)
    return listing
  }

  @Test(arguments: Array(0..<8) + Array(12..<16))
  func `neither another magic nor a reserved byte is passed over`(offset: Int) throws {
    var forged = header
    forged[offset] ^= 1
    try forge(forged)
    #expect(try isListed() == StoreError.corrupt)
  }

  @Test(arguments: [0, 2, 16, 17, 255])
  func `a number of slots that is not the one there is is not believed`(count: UInt8) throws {
    var forged = header
    forged[10] = count
    try forge(forged)
    #expect(try isListed() == StoreError.corrupt)
  }

  @Test(arguments: [1, 16, 100])
  func `bytes between the slots and the checksum are not passed over`(count: Int) throws {
    var forged = header
    forged.insert(contentsOf: [UInt8](repeating: 0, count: count), at: header.count - 48)
    try forge(forged)
    #expect(try isListed() == StoreError.corrupt)
  }

  @Test func `a header that is shorter than any is damaged, whatever its checksum`() throws {
    for count in [0, 47, 48, 49, 79, 80] {
      var short = [UInt8](repeating: 0, count: count)
      if count >= 48 { short = Array(header[..<(count - 48)]) + [UInt8](repeating: 0, count: 48) }
      if count >= 48 {
        try forge(short)
      } else {
        for name in ["header", "header.copy"] { try scratch.overwrite(name, with: short) }
      }
      #expect(try isListed() == StoreError.corrupt, "\(count) bytes")
    }
  }

  @Test(arguments: 10..<16)
  func `a reserved byte in the head of a journal is not passed over`(offset: Int) throws {
    // The chain value is over zeros there, so it stays right.
    try scratch.flip("journal", at: offset)
    #expect(try code { _ = try scratch.open().text("item") } == StoreError.corrupt)
  }
}
