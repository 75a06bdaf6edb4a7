import CSessionToolsLinux
import CSessionToolsRegisters
import Foundation
import SessionToolsBase
import Testing

@Suite struct `secret bytes` {
  @Test func `they hold the bytes that they were made from`() {
    #expect(SecretBytes([1, 2, 3]).copyBytes() == [1, 2, 3])
    #expect(SecretBytes(utf8: "é").copyBytes() == [0xC3, 0xA9])
    #expect(SecretBytes(Data([4, 5])).copyBytes() == [4, 5])
    let filled = SecretBytes(capacity: 8) { output in
      for _ in 1...3 { output.append(7) }
    }
    #expect(filled.byteCount == 3 && filled.copyBytes() == [7, 7, 7])
    #expect(SecretBytes([UInt8]()).isEmpty && SecretBytes(capacity: 0) { _ in }.isEmpty)
  }

  @Test func `none stays in a register after it was copied in or out`() {
    let text = Array("pferd-batterie-klammer-7f3a91c2e5d80b46".utf8)
    let (registers, copy) = (Registers(), ByteBuffer(byteCount: text.count))
    let secret = SecretBytes(text)
    let afterCopyingIn = registers.content()
    copy.copy(secret, to: 0)
    let afterCopyingOut = registers.content()
    copy.copy(text, to: 0)
    let afterCopyingOther = registers.content()
    #expect(!holds(afterCopyingIn, text.suffix(8)))
    #expect(!holds(afterCopyingOut, text.suffix(8)))
    // What is not cleared is there.
    #expect(holds(afterCopyingOther, text.suffix(8)))
    #expect(copy.bytes(0..<text.count) == text)
  }

  @Test func `they are equal if every byte is`() {
    #expect(SecretBytes([1, 2]) == SecretBytes([1, 2]))
    #expect(SecretBytes([1, 2]) != SecretBytes([1, 3]))
    #expect(SecretBytes([1, 2]) != SecretBytes([1, 2, 3]))
    #expect(SecretBytes([UInt8]()) == SecretBytes(utf8: ""))
  }

  @Test func `an error while filling is passed on`() {
    #expect(throws: TestError.self) {
      try SecretBytes(capacity: 4) { (output: inout OutputRawSpan) throws(TestError) in
        output.append(1)
        throw TestError()
      }
    }
  }

  @Test func `no description, interpolation, mirror or dump shows a byte`() {
    let secret = SecretBytes(utf8: "hunter2")
    struct Holder { let secret: SecretBytes }
    var dumped = ""
    dump(Holder(secret: secret), to: &dumped)
    let texts = [
      secret.description, secret.debugDescription, "\(secret)", String(reflecting: secret),
      dumped, "\(Holder(secret: secret))", "\([secret])", "\(Optional(secret) as Any)",
    ]
    for text in texts {
      #expect(text.contains("7 secret bytes"))
      // Two bytes: the name of a local type contains an address, in which any number may stand.
      #expect(!text.contains("hunter2") && !text.contains("104, 117") && !text.contains("68 75"))
    }
    #expect(Mirror(reflecting: secret).children.isEmpty)
  }

  @Test func `shared data is the buffer itself and outlives the bytes`() throws {
    var secret: SecretBytes? = SecretBytes(utf8: "more than fourteen bytes")
    let data = secret?.sharedData ?? Data()
    #expect(address(of: data) == address(of: try #require(secret)))
    secret = nil
    #expect(data == Data("more than fourteen bytes".utf8))
    #expect(SecretBytes([UInt8]()).sharedData.isEmpty)
  }

  @Test func `the memory no longer holds them after the last reference is released`() throws {
    // Read through the kernel, which can read memory that was freed.
    let pattern = (0..<4096).map { _ in UInt8.random(in: 0...255) }
    var secret: SecretBytes? = SecretBytes(pattern)
    var data = secret?.sharedData
    let address = address(of: try #require(secret))
    #expect(memory(at: address, count: pattern.count) == pattern, "it can be seen while in use")
    secret = nil
    #expect(memory(at: address, count: pattern.count) == pattern, "the data still holds it")
    data = nil
    _ = data
    let left = zip(memory(at: address, count: pattern.count) ?? [], pattern).count { $0 == $1 }
    #expect(left < 256, "\(left) of 4,096 bytes are still there")
  }

  @Test func `bytes written before an error are wiped too`() throws {
    let pattern = (0..<4096).map { _ in UInt8.random(in: 0...255) }
    var address: UInt?
    #expect(throws: TestError.self) {
      try SecretBytes(capacity: 4096) { (output: inout OutputRawSpan) throws(TestError) in
        for byte in pattern { output.append(byte) }
        address = unsafe output.bytes.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
        throw TestError()
      }
    }
    let left = zip(memory(at: try #require(address), count: 4096) ?? [], pattern)
      .count { $0 == $1 }
    #expect(left < 256)
  }

  @Test func `bytes are given as text only if they are text`() {
    #expect(SecretBytes(utf8: "größe").copyText() == "größe")
    #expect(SecretBytes([]).copyText() == "")
    #expect(SecretBytes([0x66, 0xff]).copyText() == nil)
    #expect(SecretBytes([0xc3]).copyText() == nil)
    #expect(SecretBytes([0x66, 0xff]).copyData() == Data([0x66, 0xff]))
    #expect(SecretBytes([]).copyData().isEmpty)
  }

  private func address(of secret: SecretBytes) -> UInt {
    secret.withBytes { span in
      unsafe span.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
    }
  }

  private func address(of data: Data) -> UInt {
    unsafe data.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
  }

  /// Returns the memory at an address, or `nil` if it is no longer mapped.
  private func memory(at address: UInt, count: Int) -> [UInt8]? {
    guard let file = FileHandle(forReadingAtPath: "/proc/self/mem") else { return nil }
    try? file.seek(toOffset: UInt64(address))
    return (try? file.read(upToCount: count)).map { Array($0) }
  }
}

/// The vector registers of this thread.
private struct Registers {
  private let level = session_tools_vector_level()
  private let memory = ByteBuffer(byteCount: 32 * 64)

  /// Returns what is in them; before it is called, other calls may change that.
  func content() -> [UInt8] {
    unsafe session_tools_read_vector_registers(memory.pointer(to: 0..<memory.byteCount), level)
    return memory.bytes(0..<memory.byteCount)
  }
}

private func holds(_ registers: [UInt8], _ part: ArraySlice<UInt8>) -> Bool {
  registers.indices.contains { registers[$0...].starts(with: part) }
}
