/// The number of bytes that a search for records may try to open.
///
/// Anyone can make every byte look like the start of a record of megabytes, so that trying them all
/// would take forever. The budget is therefore 64 MiB and four times the bytes that were searched.
/// Holes, which take no time to make, do not count.
struct TrialBudget {
  private static let factor = 4

  private var leftByteCount = 64 << 20

  /// Adds the budget for bytes that were searched.
  mutating func add(searched byteCount: Int) {
    leftByteCount += Self.factor * byteCount
  }

  /// Returns bytes that were taken to the budget.
  mutating func giveBack(_ byteCount: Int) {
    leftByteCount += byteCount
  }

  /// Takes the length of a record that will be tried; `false` when it is too much.
  mutating func take(_ byteCount: Int) -> Bool {
    guard byteCount <= leftByteCount else { return false }
    leftByteCount -= byteCount
    return true
  }
}
