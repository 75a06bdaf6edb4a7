/// How long a plaintext is made, so that its size tells little.
///
/// Padmé (Nikitin et al., "Reducing Metadata Leakage from Encrypted Files and Communication
/// with PURBs", 2019): at most 12 % longer, and a length of n leaks O(log log n) bits.
enum Padding {
  /// The shortest plaintext.
  static let floor = 128

  /// The padded length of a plaintext of `byteCount` bytes.
  static func paddedByteCount(for byteCount: Int) -> Int {
    let length = max(floor, byteCount)
    let exponent = Int.bitWidth - 1 - length.leadingZeroBitCount
    let kept = Int.bitWidth - 1 - exponent.leadingZeroBitCount + 1
    let mask = (1 << (exponent - kept)) - 1
    return (length + mask) & ~mask
  }

  /// Whether some plaintext is padded to this length.
  static func isPossible(_ byteCount: Int) -> Bool {
    byteCount >= floor && paddedByteCount(for: byteCount) == byteCount
  }
}
