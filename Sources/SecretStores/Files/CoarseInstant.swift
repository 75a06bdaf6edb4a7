import CSessionToolsLinux

/// A moment, accurate to a few milliseconds, that costs nanoseconds to read.
package struct CoarseInstant: Sendable {
  private let nanoseconds: Int64

  /// A moment earlier than any other by more than any interval.
  package static let distantPast = CoarseInstant(nanoseconds: .min / 2)

  package static var now: CoarseInstant {
    CoarseInstant(nanoseconds: session_tools_coarse_time())
  }

  /// Returns whether the moment is later than another by at least an interval.
  package func isLater(than other: CoarseInstant, byNanoseconds interval: Int64) -> Bool {
    nanoseconds - other.nanoseconds >= interval
  }
}
