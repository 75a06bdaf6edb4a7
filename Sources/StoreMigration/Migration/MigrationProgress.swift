extension Migration {
  /// The phases of a migration, in this order.
  public enum Phase: String, Sendable {
    case planning, copying, verifying, deleting, undoing
  }

  /// A closure that receives the progress of a migration: the phase, how many items of it are done,
  /// how many there are, and how many bytes of values were read for it.
  ///
  /// It is called before every item, on the thread that does the work.
  public typealias Progress =
    @Sendable (_ phase: Phase, _ done: Int, _ total: Int, _ byteCount: Int) -> Void
}
