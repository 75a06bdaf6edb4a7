extension Array {
  /// Returns the elements in order, in parts of a given count; the last part may have fewer.
  func parts(of largestCount: Int) -> [ArraySlice<Element>] {
    stride(from: 0, to: count, by: largestCount).map { dropFirst($0).prefix(largestCount) }
  }
}
