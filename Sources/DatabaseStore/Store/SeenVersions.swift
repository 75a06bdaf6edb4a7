import SecretStores

/// The newest version of each row that this process read or wrote, for the last 100,000 of them.
///
/// A change of a row that is known needs no read before it; and a row that is older than it was
/// before is noticed.
final class SeenVersions: Sendable {
  struct Seen {
    let version: Int64
    let isGone: Bool
    fileprivate let time: ContinuousClock.Instant
  }

  /// Two generations: what is not used while the newer one fills up is forgotten with the older.
  private struct State {
    var newer: [RowAddress: Seen] = [:]
    var older: [RowAddress: Seen] = [:]

    subscript(address: RowAddress) -> Seen? { newer[address] ?? older[address] }

    mutating func set(_ seen: Seen, at address: RowAddress) {
      newer[address] = seen
      guard newer.count >= SeenVersions.generationCount else { return }
      older = newer
      newer = [:]
    }
  }

  private static let generationCount = 50_000
  /// The time for which a row that is read again is not noted again.
  private static let precision = Duration.seconds(10)

  private let state = Lock(State())

  subscript(address: RowAddress) -> Seen? { state.withLock { $0[address] } }

  /// Notes a row that was read.
  func note(_ address: RowAddress, version: Int64, isGone: Bool) {
    let seen = Seen(version: version, isGone: isGone, time: .now)
    state.withLock { state in
      if let known = state.newer[address], known.version == version,
        seen.time < known.time + Self.precision
      {
        return
      }
      // Another thread may have read or written a newer one meanwhile.
      if let known = state[address], known.version > version { return }
      state.set(seen, at: address)
    }
  }

  /// Notes a row that was written, perhaps over one that was older than it should have been.
  func noteWritten(_ address: RowAddress, version: Int64, isGone: Bool) {
    let seen = Seen(version: version, isGone: isGone, time: .now)
    state.withLock { $0.set(seen, at: address) }
  }

  func forget() { state.withLock { $0 = State() } }

  /// Returns whether a row is older than one that was seen before the read began.
  ///
  /// - Parameters:
  ///   - version: The version that was read; `nil` when the row is absent.
  ///   - known: What was known before it was read.
  /// - Returns: Whether it is older, or absent although it cannot have been deleted by now.
  static func isOlder(_ version: Int64?, than known: Seen?) -> Bool {
    guard let known else { return false }
    if let version { return version < known.version }
    return !known.isGone && known.time + Sweeper.certainty > .now
  }
}
