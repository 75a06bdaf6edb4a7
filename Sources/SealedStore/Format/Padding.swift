/// How long values and names are made, so that their sizes tell little.
enum Padding {
  /// The shortest value, with its length, and the shortest name.
  static let floor = 64
  /// The longest value of a removal.
  static let largestRemoval = 4096
  private static let nameStep = 64

  /// The padded length of a value and its length of `byteCount` bytes.
  ///
  /// Padmé (Nikitin et al., "Reducing Metadata Leakage from Encrypted Files and Communication
  /// with PURBs", 2019): at most 12 % longer, and a length of n leaks O(log log n) bits.
  static func paddedByteCount(for byteCount: Int) -> Int {
    let length = max(floor, byteCount)
    let exponent = Int.bitWidth - 1 - length.leadingZeroBitCount
    let kept = Int.bitWidth - 1 - exponent.leadingZeroBitCount + 1
    let mask = (1 << (exponent - kept)) - 1
    return (length + mask) & ~mask
  }

  /// Whether some value is padded to this length.
  static func isPossible(_ byteCount: Int) -> Bool {
    byteCount >= floor && paddedByteCount(for: byteCount) == byteCount
  }

  /// The padded length of a name of `byteCount` bytes.
  static func paddedByteCount(forName byteCount: Int) -> Int {
    max(floor, (byteCount + nameStep - 1) / nameStep * nameStep)
  }

  /// Whether some name is padded to this length.
  static func isPossibleName(_ byteCount: Int) -> Bool {
    byteCount >= floor && byteCount % nameStep == 0
  }
}
