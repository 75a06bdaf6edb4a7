import CLinux

/// A moment, to a few milliseconds, that costs nanoseconds to ask for.
package struct CoarseInstant: Sendable {
  private let nanoseconds: Int64

  /// Earlier than anything, by more than any interval.
  package static let distantPast = CoarseInstant(nanoseconds: .min / 2)

  package static var now: CoarseInstant {
    CoarseInstant(nanoseconds: session_tools_coarse_time())
  }

  /// Whether the moment is later than another by at least so much.
  package func isLater(than other: CoarseInstant, byNanoseconds interval: Int64) -> Bool {
    nanoseconds - other.nanoseconds >= interval
  }
}
