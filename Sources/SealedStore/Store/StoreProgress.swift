/// Hears how far a long operation is.
public struct StoreProgress: Sendable {
  /// Called now and then with what is done and what there is in all, in items or bytes; on
  /// the thread that does the work, which has the store's lock for changes: do not call the
  /// store from it.
  public let report: @Sendable (_ done: Int, _ total: Int) -> Void

  /// Takes a closure that is called every thousand items or so.
  public init(_ report: @escaping @Sendable (_ done: Int, _ total: Int) -> Void) {
    self.report = report
  }
}
