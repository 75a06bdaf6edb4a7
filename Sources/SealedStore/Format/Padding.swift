/// The padding of values and names, so that their sizes reveal little.
package enum Padding {
  /// The padded length of the shortest value, its length field included, and of the shortest name.
  static let floor = 64
  /// The padded length of the longest value in a removal.
  static let largestRemoval = 4096
  private static let nameStep = 64

  /// Returns the padded length of `byteCount` bytes: a value with its length field.
  ///
  /// Padmé (Nikitin et al., "Reducing Metadata Leakage from Encrypted Files and Communication
  /// with PURBs", 2019): at most 12 % longer, and a length of n leaks O(log log n) bits.
  package static func paddedByteCount(for byteCount: Int) -> Int {
    let length = max(floor, byteCount)
    let exponent = Int.bitWidth - 1 - length.leadingZeroBitCount
    let kept = Int.bitWidth - 1 - exponent.leadingZeroBitCount + 1
    let mask = (1 << (exponent - kept)) - 1
    return (length + mask) & ~mask
  }

  /// Returns whether some value is padded to this length.
  package static func isPossible(_ byteCount: Int) -> Bool {
    byteCount >= floor && paddedByteCount(for: byteCount) == byteCount
  }

  /// Returns the padded length of a name of `byteCount` bytes.
  package static func paddedByteCount(forName byteCount: Int) -> Int {
    max(floor, (byteCount + nameStep - 1) / nameStep * nameStep)
  }

  /// Returns whether some name is padded to this length.
  package static func isPossibleName(_ byteCount: Int) -> Bool {
    byteCount >= floor && byteCount % nameStep == 0
  }
}
