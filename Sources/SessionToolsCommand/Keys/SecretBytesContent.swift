import SessionToolsBase

extension SecretBytes {
  /// Returns whether one of the bytes is this one.
  func contains(_ byte: UInt8) -> Bool {
    withBytes { bytes in
      for offset in 0..<bytes.byteCount
      where unsafe bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self) == byte {
        return true
      }
      return false
    }
  }

  /// The number of characters, more precisely of Unicode's scalars, if the bytes are UTF-8.
  var characterCount: Int {
    withBytes { bytes in
      (0..<bytes.byteCount).count {
        unsafe bytes.unsafeLoad(fromByteOffset: $0, as: UInt8.self) & 0xC0 != 0x80
      }
    }
  }

  /// The bytes without the newline at their end, if there is one.
  var withoutNewline: SecretBytes {
    guard endsWithNewline else { return self }
    let buffer = ByteBuffer(byteCount: byteCount, isSecret: true)
    buffer.copy(self, to: 0)
    return SecretBytes(in: buffer, 0..<byteCount - 1)
  }

  /// Whether the last byte is a newline.
  var endsWithNewline: Bool {
    guard !isEmpty else { return false }
    return withBytes { bytes in
      unsafe bytes.unsafeLoad(fromByteOffset: bytes.byteCount - 1, as: UInt8.self)
        == UInt8(ascii: "\n")
    }
  }
}
