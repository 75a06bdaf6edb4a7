import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import Testing

/// A line of `Tests/Data/Wycheproof`, whose form its `README.md` describes.
private struct WycheproofCase {
  let number: Int
  let isValid: Bool
  let key: [UInt8]
  let nonce: [UInt8]
  let associatedData: ByteBuffer
  let plaintext: [UInt8]
  let sealed: [UInt8]

  static func all() throws -> [WycheproofCase] {
    let file = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../Data/Wycheproof/xchacha20_poly1305.txt").standardizedFileURL
    return try String(contentsOf: file, encoding: .ascii).split(separator: "\n").map { line in
      try WycheproofCase(line)
    }
  }

  init(_ line: Substring) throws {
    let parts = line.split(separator: " ")
    guard parts.count == 7, let number = Int(parts[0]), ["valid", "invalid"].contains(parts[1])
    else { throw VectorHead.ParsingError(line: String(line)) }
    self.number = number
    isValid = parts[1] == "valid"
    let bytes = try parts[2...].map { $0 == "-" ? [] : try VectorHead.bytes(hex: $0) }
    (key, nonce, plaintext, sealed) = (bytes[0], bytes[1], bytes[3], bytes[4])
    associatedData = ByteBuffer(bytes[2])
  }

  func keyBytes() throws -> KeyBytes {
    let bytes = try KeyBytes()
    bytes.copy(from: SecretBytes(key))
    return bytes
  }
}

@Suite struct WycheproofTests {
  @Test func `all 315 cases of Wycheproof seal and open with the expected results`() throws {
    var counts: [Bool: Int] = [:]
    for test in try WycheproofCase.all() {
      if test.isValid { try checkSealing(test) }
      try checkOpening(test)
      counts[test.isValid, default: 0] += 1
    }
    #expect(counts == [true: 246, false: 69])
  }

  private func checkSealing(_ test: WycheproofCase) throws {
    let room = test.sealed.count - test.plaintext.count
    let buffer = ByteBuffer(
      test.nonce + test.plaintext + [UInt8](repeating: 0, count: room))
    Sodium.seal(
      buffer, 0..<buffer.byteCount, associatedData: test.associatedData, key: try test.keyBytes())
    #expect(buffer.bytes(0..<buffer.byteCount) == test.nonce + test.sealed, "case \(test.number)")
  }

  private func checkOpening(_ test: WycheproofCase) throws {
    let buffer = ByteBuffer(test.nonce + test.sealed)
    let opens = Sodium.open(
      buffer, 0..<buffer.byteCount, associatedData: test.associatedData, key: try test.keyBytes())
    #expect(opens == test.isValid, "case \(test.number)")
    guard opens else { return }
    let start = test.nonce.count
    #expect(
      buffer.bytes(start..<start + test.plaintext.count) == test.plaintext, "case \(test.number)")
  }
}
