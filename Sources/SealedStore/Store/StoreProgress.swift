/// A receiver of the progress of a long operation.
public struct StoreProgress: Sendable {
  /// The closure, which receives from time to time what is done and the total, in items or bytes.
  ///
  /// It is called on the thread that does the work, which has the store's lock for changes: do not
  /// call the store from it.
  public let report: @Sendable (_ done: Int, _ total: Int) -> Void

  /// Takes a closure that is called about every thousand items, or every mebibyte.
  public init(_ report: @escaping @Sendable (_ done: Int, _ total: Int) -> Void) {
    self.report = report
  }
}

/// A reporter of progress in steps of one size, however small the steps of the work are.
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
