/// What a few items that are changed together hold: of each the number of its value, or 0 when
/// it is absent.
///
/// Four, so that a state is small and has no memory of its own: a checker has millions of them.
package typealias GroupState = SIMD4<UInt64>

/// What an operation says of one item, where it is not the number of a value.
package enum ItemWord {
  /// The item is absent, or removed.
  package static let absent: UInt64 = 0
  /// A change leaves the item alone; an observation does not look at it.
  package static let untouched = UInt64.max
  /// An observation saw that there is a value, but not which.
  package static let present = UInt64.max - 1
}
