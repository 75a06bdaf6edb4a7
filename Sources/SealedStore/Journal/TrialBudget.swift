/// How many bytes a search for records may try to open.
///
/// Anyone can make every byte look like the start of a record of megabytes, so that trying them all
/// would take for ever: it is several times what was searched through. Holes, which take no time to
/// make, do not count.
struct TrialBudget {
  private static let factor = 4

  private var leftByteCount = 64 << 20

  /// Adds what was searched through.
  mutating func add(searched byteCount: Int) {
    leftByteCount += Self.factor * byteCount
  }

  /// Takes back what was taken.
  mutating func giveBack(_ byteCount: Int) {
    leftByteCount += byteCount
  }

  /// Takes the length of what will be tried; `false` when that is too much.
  mutating func take(_ byteCount: Int) -> Bool {
    guard byteCount <= leftByteCount else { return false }
    leftByteCount -= byteCount
    return true
  }
}
