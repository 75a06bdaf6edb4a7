/// The contents of four items that are changed together: for each, the number of its value, or 0
/// when it is absent.
///
/// There are four so that a state is small and allocates no memory: a checker has millions of them.
package typealias GroupState = SIMD4<UInt64>

/// The words that an operation has for an item in place of a value's number.
package enum ItemWord {
  /// The item is absent, or removed.
  package static let absent: UInt64 = 0
  /// A change leaves the item alone; an observation does not look at it.
  package static let untouched = UInt64.max
  /// An observation saw that there is a value, but not which.
  package static let present = UInt64.max - 1
}
