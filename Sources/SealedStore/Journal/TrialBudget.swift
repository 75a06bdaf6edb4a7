/// How many bytes a search for records may try to open.
///
/// Anyone can make every byte look like the start of a record of megabytes, so that trying them all
/// would take for ever.
struct TrialBudget {
  private var leftByteCount: Int

  /// - Parameter byteCount: How much is searched through. A file of holes can have any length.
  init(searching byteCount: Int) {
    leftByteCount = max(64 << 20, byteCount > Int.max / 4 ? Int.max : 4 * byteCount)
  }

  /// Takes the length of what will be tried; `false` when that is too much.
  mutating func take(_ byteCount: Int) -> Bool {
    guard byteCount <= leftByteCount else { return false }
    leftByteCount -= byteCount
    return true
  }
}
