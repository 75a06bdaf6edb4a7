/// Hears how far a long operation is.
public struct StoreProgress: Sendable {
  /// Called now and then with what is done and what there is in all, in items or bytes; on
  /// the thread that does the work, which has the store's lock for changes: do not call the
  /// store from it.
  public let report: @Sendable (_ done: Int, _ total: Int) -> Void

  /// Takes a closure that is called every thousand items or so, or every mebibyte.
  public init(_ report: @escaping @Sendable (_ done: Int, _ total: Int) -> Void) {
    self.report = report
  }
}

/// Tells of progress in steps of one size, however small those of the work are.
struct ProgressSteps {
  private let progress: StoreProgress?
  private let total: Int
  private let step: Int
  private var last: Int?

  init(_ progress: StoreProgress?, total: Int, step: Int) {
    self.progress = progress
    self.total = total
    self.step = step
  }

  mutating func reached(_ done: Int) {
    if let last, done - last < step { return }
    last = done
    progress?.report(done, total)
  }

  func finish() {
    progress?.report(total, total)
  }
}
