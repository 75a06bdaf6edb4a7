import SessionToolsBase

/// What a record seals: `key length 4 ‖ value length 4 ‖ canonical key ‖ value ‖ zeros`.
enum RecordPlaintext {
  /// Nonce and tag around the plaintext.
  static let sealingByteCount = Sodium.nonceByteCount + Sodium.tagByteCount

  private static let largestKeyByteCount = 4 * (5 + Name.largestByteCount)

  private static var largestSealedByteCount: Int {
    sealingByteCount
      + Padding.paddedByteCount(
        for: 8 + largestKeyByteCount + SealedFileStore.largestValueByteCount)
  }

  /// The smallest record, prefix included.
  static let smallestRecordByteCount =
    RecordPrefix.byteCount + sealingByteCount + Padding.floor

  /// The length of the sealed part for a key and a value of these lengths.
  static func sealedByteCount(keyByteCount: Int, valueByteCount: Int) -> Int {
    sealingByteCount + Padding.paddedByteCount(for: 8 + keyByteCount + valueByteCount)
  }

  /// Whether some record's sealed part has this length.
  ///
  /// Bounds what a forged length costs.
  static func isPossibleSealedByteCount(_ byteCount: Int) -> Bool {
    byteCount <= largestSealedByteCount && Padding.isPossible(byteCount - sealingByteCount)
  }

  /// Where key and value stand in an open plaintext; `nil` when it is none that a writer makes.
  static func layout(
    of buffer: ByteBuffer, _ plaintext: Range<Int>
  ) -> (key: Range<Int>, value: Range<Int>)? {
    let keyByteCount = Int(buffer.load(UInt32.self, at: plaintext.lowerBound))
    let valueByteCount = Int(buffer.load(UInt32.self, at: plaintext.lowerBound + 4))
    guard keyByteCount <= largestKeyByteCount,
      valueByteCount <= SealedFileStore.largestValueByteCount,
      Padding.paddedByteCount(for: 8 + keyByteCount + valueByteCount) == plaintext.count
    else { return nil }
    let key = plaintext.lowerBound + 8..<plaintext.lowerBound + 8 + keyByteCount
    let value = key.upperBound..<key.upperBound + valueByteCount
    guard buffer.isZero(value.upperBound..<plaintext.upperBound) else { return nil }
    return (key, value)
  }
}
