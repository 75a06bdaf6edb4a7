public import SecretStores

/// The result of verifying a store.
///
/// It contains no value and no key.
public struct VerificationReport: Hashable, Sendable {
  /// Something that differs from what a writer leaves.
  public struct Finding: Hashable, Sendable {
    /// The part of the store that the finding is about.
    public let part: Part
    /// A description of the finding, one sentence without its period.
    public let description: String
    /// Whether confirmed data was changed or lost.
    ///
    /// A finding that is not damage needs no repair, or is repaired by the first change of the next
    /// program that opens the store.
    public let isDamage: Bool
  }

  /// The part of a store that a finding is about.
  public enum Part: String, Hashable, Sendable, CaseIterable {
    /// The file `header`.
    case header
    /// The file `header.copy`.
    case headerCopy
    /// The file `header.next` of an unfinished rotation.
    case rotation
    /// The file `mark`.
    case mark
    /// The records, and whether they reach the position in the mark.
    case journal
    /// Other files in the directory.
    case files
  }

  /// The findings; empty for a store in perfect order.
  public let findings: [Finding]
  /// The items whose newest record cannot be read, if their names are known.
  public let damagedItems: [ItemName]
  /// Those of ``damagedItems`` whose newest known record opens: they cannot be read until the store
  /// is repaired, and a repair brings them back.
  public let repairableItems: [ItemName]
  /// Whether there is anything left to repair; if not, only a backup helps.
  public let isRepairable: Bool
  /// The number of items, including damaged ones.
  public let itemCount: Int
  /// The number of records that open, including superseded ones.
  public let recordCount: Int
  /// The total length of the newest records of all items.
  public let liveByteCount: Int
  /// The length of the journal up to where it counts; behind that its file has room for later
  /// changes.
  public let journalByteCount: Int

  /// Whether no confirmed data was changed or lost.
  public var isSound: Bool { !findings.contains(where: \.isDamage) }
}
