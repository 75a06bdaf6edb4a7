import SecretServiceStore
import SessionToolsBase
import Testing

/// The line that stores an item.
@Suite struct ItemLineTests {
  private func line(_ value: [UInt8], for name: ItemName) -> [UInt8] {
    let line = ItemLine.encode(SecretBytes(value), for: name)
    return line.bytes(0..<line.byteCount)
  }

  private func defect(of line: [UInt8]) -> ItemLine.Defect? {
    do {
      _ = try ItemLine.decode(SecretBytes(line))
      return nil
    } catch {
      return error
    }
  }

  @Test func `a line decodes to its name and value, and is ASCII without control characters`()
    throws
  {
    for name in try Names.odd() {
      for value in [[], [0], Array("line\n".utf8), Array(0...255)] as [[UInt8]] {
        let line = line(value, for: name)
        #expect(line.allSatisfy { (0x21...0x7e).contains($0) })
        let item = try ItemLine.decode(SecretBytes(line))
        #expect(item.name == name && item.value.copyBytes() == value)
      }
    }
  }

  @Test func `the form of a line has not changed`() throws {
    let name = try ItemName("i", in: "s")
    let line = String(decoding: line(Array("v".utf8), for: name), as: UTF8.self)
    #expect(
      line
        == "session-tools:1:DgAAAAEBAAAAcwAAAQEAAABpdjHHlvSmWuIHLhXTK9CvPaucw2nBNR7PkxntXB3OLqzc")
  }

  @Test func `every shorter line is a defect`() throws {
    let whole = line(Array("value".utf8), for: try ItemName("item", in: "service"))
    for byteCount in 0..<whole.count {
      #expect(defect(of: Array(whole[..<byteCount])) != nil, "\(byteCount)")
      #expect(defect(of: Array(whole[(whole.count - byteCount)...])) != nil, "\(byteCount)")
    }
    #expect(defect(of: whole) == nil)
  }

  @Test func `every bit counts`() throws {
    let name = try ItemName("item", in: "service")
    let whole = line(Array("value".utf8), for: name)
    for position in whole.indices {
      for bit in 0..<8 {
        var changed = whole
        changed[position] ^= 1 << bit
        #expect(defect(of: changed) != nil, "bit \(bit) of byte \(position)")
      }
    }
  }

  @Test func `a line with more characters is a defect`() throws {
    let whole = line(Array("value".utf8), for: try ItemName("item", in: "service"))
    for end in ["\n", " ", "A", "AAAA", "=", "====", "\u{0}", "é"] {
      #expect(defect(of: whole + Array(end.utf8)) != nil, "\(end.debugDescription)")
      #expect(defect(of: Array(end.utf8) + whole) != nil, "\(end.debugDescription)")
    }
  }

  @Test func `foreign, newer and damaged lines are distinguished`() {
    #expect(defect(of: []) == .isNone)
    #expect(defect(of: Array("password".utf8)) == .isNone)
    #expect(defect(of: Array("session-tools".utf8)) == .isNone)
    #expect(defect(of: Array("session-tools:2:AAAA".utf8)) == .isNewer)
    #expect(defect(of: Array("session-tools:1:".utf8)) == .isDamaged)
    #expect(defect(of: Array("session-tools:1:AAAA".utf8)) == .isDamaged)
  }
}
