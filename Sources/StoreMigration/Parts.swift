extension Array {
  /// The elements in their order, some at a time; the last part may have fewer.
  func parts(of largestCount: Int) -> [ArraySlice<Element>] {
    stride(from: 0, to: count, by: largestCount).map { dropFirst($0).prefix(largestCount) }
  }
}
