extension SealedFileStore {
  /// A closure that receives the progress of a long operation: what is done and the total, in items
  /// or bytes.
  ///
  /// It is called about every thousand items, or every mebibyte, on the thread that does the work,
  /// which has the store's lock for changes: do not call the store from it.
  public typealias Progress = @Sendable (_ done: Int, _ total: Int) -> Void
}

/// A reporter of progress in steps of one size, however small the steps of the work are.
struct ProgressSteps {
  private let progress: SealedFileStore.Progress?
  private let total: Int
  private let step: Int
  private var last: Int?

  init(_ progress: SealedFileStore.Progress?, total: Int, step: Int) {
    self.progress = progress
    self.total = total
    self.step = step
  }

  mutating func reached(_ done: Int) {
    if let last, done - last < step { return }
    last = done
    progress?(done, total)
  }

  func finish() {
    progress?(total, total)
  }
}
