/// The rules of the commit protocol, each of which can be left out.
///
/// With all of them the search finds nothing wrong. Without any single one it has to find
/// something: only then does the search prove anything about the rest.
package struct Rules: Sendable {
  // Opening

  /// An opener that cannot have the lock waits, instead of answering from the mark as it is.
  package var openerWaits = true
  /// A waiting opener goes on when the mark is further than the one it read, and not merely
  /// another one.
  package var waitsForHigherMark = true
  /// The mark has to be the one in the head of a journal that the mark does not name.
  package var checksPredecessor = true
  /// The first change of a journal with a predecessor has to be whole.
  package var requiresFirstChangeWhole = true
  /// The last whole change behind the mark counts only if everything in it opens.
  package var opensLastChange = true
  /// A record that opens behind the place where the chain breaks off is damage.
  package var searchesBehindBreak = true

  // Settling

  /// A writer settles what stands behind the mark before it writes.
  package var settlesBeforeWriting = true
  /// The last change that counts is written again before it is synced.
  package var writesAgain = true
  /// It is written from the memory in which it was verified, and not from the file.
  package var writesFromMemory = true
  /// What is dropped is replaced by a void change.
  package var replacesDropped = true
  /// Settling syncs the directory before it writes the mark.
  package var settlingSyncsDirectory = true

  // Writing

  /// The journal is synced before the mark is written.
  package var syncsJournal = true
  /// The first change after a journal was opened syncs the directory before its mark.
  package var syncsDirectoryBeforeMark = true
  /// When the mark cannot be written, the outcome is unknown.
  package var failsWithMark = true

  // Rewriting

  /// A journal is synced before it takes another's place.
  package var syncsNextJournal = true
  /// The mark is written again before it is synced.
  package var writesMarkAgain = true
  /// The mark is synced before a journal takes another's place.
  package var syncsMark = true
  /// The directory is synced after the rename, before the mark is written for the new journal.
  package var syncsRename = true
  /// All items are one change.
  package var rewritesAsOneChange = true
  /// `header.next` is synced before the journal that needs it takes its place.
  package var syncsNextHeader = true
  /// So is its name.
  package var syncsNextHeaderName = true
  /// Finishing another's rotation syncs the directory before the header takes its place.
  package var finishingSyncsDirectory = true
  /// Removing another's `header.next` syncs the directory first.
  package var removingSyncsDirectory = true
  /// A repair puts random bytes where no right mark is.
  package var repairMakesMark = true
  /// A repair writes a right mark again, and syncs it, before its journal takes its place.
  package var repairSyncsMark = true
  /// A repair holds the lock until every open reader has looked at the names.
  package var repairWaits = true

  // Reading

  /// An open reader remembers the furthest mark that it saw.
  package var neverGoesBack = true
  /// The void change in the place of what is dropped does not count for how far a journal goes.
  package var judgesBeforeDropping = true
  /// An open reader that finds a lower mark settles what is behind its own end, instead of only
  /// writing its own mark again.
  package var settlesLostMark = true
  /// A reader that cannot write counts only what it read from the disk.
  package var readsDirect = true
  /// A writer checks that its own last record is still in the journal.
  package var checksOwnEnd = true

  package init() {}

  /// All rules but one.
  package static func without(_ rule: WritableKeyPath<Rules, Bool>) -> Rules {
    var rules = Rules()
    rules[keyPath: rule] = false
    return rules
  }
}
