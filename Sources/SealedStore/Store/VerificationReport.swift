public import SessionToolsBase

/// What verifying a store found.
///
/// No value and no key is in it.
public struct VerificationReport: Hashable, Sendable {
  /// One thing that is not as a writer leaves it.
  public struct Finding: Hashable, Sendable {
    /// Where something was found.
    public let place: Place
    /// What was found, one sentence without its full stop.
    public let description: String
    /// Whether confirmed data was changed or lost.
    ///
    /// What is not damage needs no mending, or is mended by the first change of the next program that
    /// opens the store.
    public let isDamage: Bool
  }

  /// The part of a store that a finding is about.
  public enum Place: String, Hashable, Sendable, CaseIterable {
    /// The file `header`.
    case header
    /// The file `header.copy`.
    case headerCopy
    /// The file `header.next` of an unfinished rotation.
    case rotation
    /// The file `mark`.
    case mark
    /// The records, and whether they go to where the mark says.
    case journal
    /// Other files in the directory.
    case files
  }

  /// What was found; empty for a store in perfect order.
  public let findings: [Finding]
  /// The items whose newest record cannot be given out, as far as their names are known.
  public let damagedItems: [StoreKey]
  /// The items there are, damaged ones included.
  public let itemCount: Int
  /// All records that open, superseded ones included.
  public let recordCount: Int
  /// The length of the newest records of all items.
  public let liveByteCount: Int
  /// The length of the journal, up to where it counts: its file has room behind it for the changes
  /// to come.
  public let journalByteCount: Int

  /// Whether nothing that was confirmed was changed or lost.
  public var isSound: Bool { !findings.contains(where: \.isDamage) }
}
