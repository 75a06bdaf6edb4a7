/// Something a store mended or met on the way, that its owner may want to know.
///
/// Nothing is written to any log; hand a closure to ``SealedFileStore/Options`` to hear of it.
public enum StoreNotice: Hashable, Sendable {
  /// The header was missing or damaged, and its copy was used.
  case headerReadFromCopy
  /// Header and copy were made equal again.
  case headersMadeEqual
  /// The copy of the header could not be written. The header counts all the same, and the
  /// next change makes both equal.
  case headerCopyNotWritten(String)
  /// A rotation that was interrupted has been finished.
  case rotationFinished
  /// Everything is sealed anew, but the new header could not be put in its place. The store
  /// opens all the same, and the next change does it.
  case rotationNotFinished(String)
  /// What an interrupted write left was cut off; when it was as long as a whole record it was
  /// kept in a file first.
  case unfinishedWriteCutOff(byteCount: Int, keptAt: String?)
  /// The mark could not be written. The change before is durable all the same.
  case markNotWritten
  /// Compaction was due and failed; the store goes on as it is.
  case compactionFailed(String)
  /// The system did not lock the pages with the keys, so they may reach swap.
  case keyMemoryNotLocked
}
