import SealedStore
import SecretStores

/// One row of a change: the item that it is about, and what is known about the row.
struct WrittenRow {
  /// What a change does with the item.
  enum Change {
    case put(SecretBytes)
    case remove
    /// Nothing: the other items are changed only if this one is not.
    case compare
  }

  let name: ItemName
  let address: RowAddress
  let change: Change
  /// `nil` when it is not known.
  var stored: State?
  /// Whether the stored row is older than it was before: others may have seen newer ones, too.
  var wasPutBack = false

  /// The state of a row before it is changed.
  enum State: Equatable {
    case absent
    case present(version: Int64, isGone: Bool)

    init(_ seen: SeenVersions.Seen) {
      self = .present(version: seen.version, isGone: seen.isGone)
    }

    var isItem: Bool { if case .present(_, false) = self { true } else { false } }
    /// The version; 0 when there is no row.
    var version: Int64 { if case .present(let version, _) = self { version } else { 0 } }
  }

  /// Whether the row is a reason to make a change: there is nothing to remove where there is no
  /// item.
  var isReason: Bool {
    switch change {
    case .put: true
    case .remove: stored?.isItem ?? true
    case .compare: false
    }
  }

  /// Whether what is known about the row is enough to change it.
  ///
  /// That there is nothing to remove has to be looked up each time: another machine may have put
  /// an item. That an item is there is checked by the change itself. And a look refuses the last
  /// versions, over which nothing could be put.
  var isKnown: Bool {
    guard let stored, stored.version < .max - 1 else { return false }
    if case .remove = change { return stored.isItem }
    return true
  }

  /// Whether the item was removed when the row was last read or written.
  var isKnownToBeGone: Bool {
    if case .present(let version, isGone: true) = stored { version < .max - 1 } else { false }
  }

  /// A clock that is later is wrong, and would leave no versions for the changes after this one.
  static let latestTime: Int64 = 1 << 62

  /// Returns the version to put over what is stored.
  ///
  /// - Parameter serverTime: The server's clock in microseconds since 1970. It is above every
  ///   version that a row had, because that began with the clock and went up with each change.
  /// - Returns: The version.
  /// - Precondition: The row is known, or was looked at.
  func newVersion(at serverTime: Int64) -> Int64 {
    let old = stored?.version ?? 0
    return old == 0 || wasPutBack ? max(serverTime, old + 1) : old + 1
  }

  /// Whether the row is written, and not only looked at.
  ///
  /// Beside other changes there has to be a removal even where there is no item: nothing else keeps
  /// another machine from putting one at the same moment, so that both are seen. So there has to be
  /// where a change requires that there is no item.
  var isChanged: Bool {
    switch (change, stored) {
    case (.compare, .present), (.remove, .present(_, isGone: true)): false
    default: true
    }
  }

  /// What is written; `nil` for a removal.
  var value: SecretBytes? { if case .put(let value) = change { value } else { nil } }
}

/// What a change that was not answered has done, as far as the rows show it.
enum Traces {
  /// The change was made.
  case made
  /// The change was not made, and never will be.
  case notMade
  /// The change was not made, and a server may still have it.
  case notYet
  /// All of the rows were changed again meanwhile.
  case unknown

  /// Judges the rows of a change.
  ///
  /// - Parameters:
  ///   - rows: Each row as it was expected, and as it is now with the write identifier in it.
  ///   - write: The identifier of the change.
  init(
    _ rows: [(sent: SentRow, now: WrittenRow.State, write: WriteIdentifier?)],
    of write: WriteIdentifier
  ) {
    let changed = rows.filter(\.sent.isChanged)
    if changed.contains(where: { $0.write == write }) {
      self = .made
    } else if changed.allSatisfy({ $0.now.version > $0.sent.newVersion }) {
      self = .unknown
    } else {
      // A row that is not as it was expected keeps the change from ever being made.
      self = rows.contains { $0.now.version != $0.sent.oldVersion } ? .notMade : .notYet
    }
  }
}

/// A row as it was sent.
struct SentRow {
  let address: RowAddress
  /// 0 when there was no row.
  let oldVersion: Int64
  let newVersion: Int64
  let isChanged: Bool
  let isGone: Bool
}
