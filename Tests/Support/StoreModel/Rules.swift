/// The rules of the commit protocol, each of which can be omitted.
///
/// With all rules the search must find no problem. Without any single rule it must find one: only
/// then does the search prove anything about the others.
package struct Rules: Sendable {
  // Opening

  /// An opener that cannot get the lock waits, instead of answering from the current mark.
  package var openerWaits = true
  /// A waiting opener continues if the mark is further than the one it read, not merely different.
  package var waitsForHigherMark = true
  /// If the mark does not name the journal, it must be the mark in the journal's head.
  package var checksPredecessor = true
  /// The first change of a journal with a predecessor must be whole.
  package var requiresFirstChangeWhole = true
  /// The last whole change behind the mark counts only if everything in it opens.
  package var opensLastChange = true
  /// A record that opens behind the break of the chain is damage.
  package var searchesBehindBreak = true

  // Recovery

  /// A writer recovers the changes behind the mark before it writes.
  package var recoversBeforeWriting = true
  /// The last change that counts is written again before it is synced.
  package var writesAgain = true
  /// It is written from the memory in which it was verified, not from the file.
  package var writesFromMemory = true
  /// A dropped change is replaced by a void change.
  package var replacesDropped = true
  /// Recovery syncs the directory before it writes the mark.
  package var recoverySyncsDirectory = true

  // Writing

  /// The journal is synced before the mark is written.
  package var syncsJournal = true
  /// The first change after a journal was opened syncs the directory before its mark.
  package var syncsDirectoryBeforeMark = true
  /// If the mark cannot be written, the outcome is unknown.
  package var failsWithMark = true

  // Rewriting

  /// A journal is synced before it replaces another.
  package var syncsNextJournal = true
  /// The mark is written again before it is synced.
  package var writesMarkAgain = true
  /// The mark is synced before a journal replaces another.
  package var syncsMark = true
  /// The directory is synced after the rename, before the mark is written for the new journal.
  package var syncsRename = true
  /// All items are one change.
  package var rewritesAsOneChange = true
  /// `header.next` is synced before the journal that needs it is put in place.
  package var syncsNextHeader = true
  /// The name of `header.next` is synced before that too.
  package var syncsNextHeaderName = true
  /// Finishing another's rotation syncs the directory before the header is put in place.
  package var finishingSyncsDirectory = true
  /// Removing another's `header.next` syncs the directory first.
  package var removingSyncsDirectory = true
  /// A repair writes random bytes if there is no valid mark.
  package var repairMakesMark = true
  /// A repair writes a valid mark again and syncs it before its journal is put in place.
  package var repairSyncsMark = true
  /// A repair holds the lock until every open reader has checked the names.
  package var repairWaits = true

  // Reading

  /// An open reader remembers the furthest mark that it saw.
  package var neverGoesBack = true
  /// The void change that replaces a dropped change does not count for a journal's version.
  package var judgesBeforeDropping = true
  /// An open reader that finds a lower mark recovers the changes behind its own end, instead of
  /// only writing its own mark again.
  package var recoversLostMark = true
  /// A reader that cannot write counts only bytes that it read from the disk.
  package var readsDirect = true
  /// A writer checks that its own last record is still in the journal.
  package var checksOwnEnd = true

  package init() {}

  /// Returns all rules except one.
  package static func without(_ rule: WritableKeyPath<Rules, Bool>) -> Rules {
    var rules = Rules()
    rules[keyPath: rule] = false
    return rules
  }
}
