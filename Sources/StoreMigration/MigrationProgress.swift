/// Hears how far a migration is, on the thread that does the work.
public struct MigrationProgress: Sendable {
  /// What a migration does, in this order.
  public enum Phase: String, Sendable {
    case planning, copying, verifying, deleting, undoing
  }

  /// Called now and then with what is under way, how many items are done and how many there are,
  /// and how many bytes of values were read for it.
  public let report: @Sendable (Phase, _ done: Int, _ total: Int, _ byteCount: Int) -> Void

  /// Takes a closure.
  public init(
    _ report: @escaping @Sendable (Phase, _ done: Int, _ total: Int, _ byteCount: Int) -> Void
  ) {
    self.report = report
  }
}
