import SecretStores

/// A notice of something that a store repaired or found, which its owner may want to know.
///
/// Nothing is written to any log; pass a closure to ``SealedFileStore/Options`` to receive notices.
/// Later versions may add cases, so a `switch` needs a `default`; ``description`` has a sentence
/// for each.
public enum StoreNotice: Hashable, Sendable {
  /// The header was missing or damaged, and its copy was used.
  case headerReadFromCopy
  /// Header and copy were made equal again.
  case headersMadeEqual
  /// The copy of the header could not be written. The header counts nevertheless, and the next
  /// change makes both equal.
  case headerCopyNotWritten(String)
  /// A rotation that was interrupted has been finished.
  case rotationFinished
  /// Everything is sealed again, but the new header could not be installed. The store opens
  /// nevertheless, and the next change installs the header.
  case rotationNotFinished(String)
  /// The remains of an interrupted write were dropped. The write was never confirmed.
  case unfinishedWriteDropped(byteCount: Int)
  /// A change that was written and never confirmed, because its process or the machine stopped,
  /// counts now.
  case interruptedChangeFinished
  /// The anchor could not be saved. The change before it is durable nevertheless, and the next
  /// change saves an anchor.
  case anchorNotSaved(String)
  /// Compaction was due and failed; the store can be used as it is.
  case compactionFailed(String)
  /// The system did not lock the pages with the keys, so they may reach swap.
  case keyMemoryNotLocked
  /// Others can change a directory above the store, and so put another store in its place. The
  /// notice has the reason, and what to do about it.
  case parentExposed(reason: String, remedy: String)
  /// The kernel gives no notifications of changes by other processes, for this reason: they are
  /// found by looking at the store every 2 s until it does.
  case changesPolled(String)
}

extension StoreNotice: CustomStringConvertible {
  /// A description in one sentence, for people.
  public var description: String {
    switch self {
    case .headerReadFromCopy:
      "The header is missing or damaged, so its copy was used; the next change repairs it."
    case .headersMadeEqual:
      "The header and its copy differed and were made equal again."
    case .headerCopyNotWritten(let reason):
      "The copy of the header could not be written: \(reason). The next change writes it."
    case .rotationFinished:
      "A rotation that was interrupted has been finished."
    case .rotationNotFinished(let reason):
      "The new header could not be installed: \(reason). The next change installs it."
    case .unfinishedWriteDropped(let byteCount):
      "An interrupted write left \(byteCount) bytes, which were dropped; they were never confirmed."
    case .interruptedChangeFinished:
      "A change that was interrupted before it was confirmed has been finished."
    case .anchorNotSaved(let reason):
      "The anchor was not saved: \(reason). The next change saves one."
    case .compactionFailed(let reason):
      "The journal was not compacted: \(reason). The store can be used as it is."
    case .keyMemoryNotLocked:
      "The keys are not locked into memory and may reach swap; raise the limit with ulimit -l."
    case .parentExposed(let reason, let remedy):
      "Another store can be put in this one's place, because \(reason). \(remedy)."
    case .changesPolled(let reason):
      "Changes by other processes are reported up to 2 s later, because \(reason)."
    }
  }
}

extension SealedFileStore.Options {
  /// Returns the same options, with notices that also reach the process's observer.
  func reporting(as path: String) -> Self {
    var options = self
    options.onNotice = { [onNotice] notice in
      onNotice?(notice)
      StoreReport.report(.notice(store: path, "\(notice)"))
    }
    return options
  }
}
