/// A receiver of a migration's progress, which is called on the thread that does the work.
public struct MigrationProgress: Sendable {
  /// The phases of a migration, in this order.
  public enum Phase: String, Sendable {
    case planning, copying, verifying, deleting, undoing
  }

  /// Called now and then with the phase, how many items of it are done, how many there are, and how
  /// many bytes of values were read for it.
  ///
  /// While a migration is undone, these are batches instead of items.
  public let report: @Sendable (Phase, _ done: Int, _ total: Int, _ byteCount: Int) -> Void

  /// Creates a receiver that calls a closure.
  public init(
    _ report: @escaping @Sendable (Phase, _ done: Int, _ total: Int, _ byteCount: Int) -> Void
  ) {
    self.report = report
  }
}
