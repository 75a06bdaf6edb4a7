extension Array {
  /// Returns the elements in order, in parts of a given count; the last part may have fewer.
  func parts(of maximumCount: Int) -> [ArraySlice<Element>] {
    stride(from: 0, to: count, by: maximumCount).map { dropFirst($0).prefix(maximumCount) }
  }
}
