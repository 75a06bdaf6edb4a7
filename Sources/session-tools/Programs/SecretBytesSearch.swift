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

  /// The text; `nil` if the bytes are not UTF-8.
  ///
  /// It is a copy that is not wiped.
  var text: String? { String(validating: copyBytes(), as: UTF8.self) }
}
