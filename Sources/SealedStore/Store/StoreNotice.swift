import SessionToolsBase

/// Something a store mended or met on the way, that its owner may want to know.
///
/// Nothing is written to any log; hand a closure to ``SealedFileStore/Options`` to hear of it.
/// Later versions may add cases, so a `switch` needs a `default`; ``description`` has a sentence
/// for each.
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
  /// What an interrupted write left was dropped. It was never confirmed.
  case unfinishedWriteDropped(byteCount: Int)
  /// A change that was written and never confirmed, because its process or the machine stopped,
  /// counts now.
  case interruptedChangeFinished
  /// The anchor could not be saved. The change before is durable all the same, and the next
  /// change saves one.
  case anchorNotSaved(String)
  /// Compaction was due and failed; the store goes on as it is.
  case compactionFailed(String)
  /// The system did not lock the pages with the keys, so they may reach swap.
  case keyMemoryNotLocked
  /// Others can change a directory above the store, and so put another one in its place: why, and
  /// the command that mends it.
  case parentExposed(reason: String, remedy: String)
}

extension StoreNotice: CustomStringConvertible {
  /// What happened, in a sentence for a person.
  public var description: String {
    switch self {
    case .headerReadFromCopy:
      "The header is missing or damaged, so its copy was used; the next change mends it."
    case .headersMadeEqual:
      "The header and its copy differed and were made equal again."
    case .headerCopyNotWritten(let reason):
      "The copy of the header could not be written: \(reason). The next change does it."
    case .rotationFinished:
      "A rotation that was interrupted has been finished."
    case .rotationNotFinished(let reason):
      "The new header could not be put in place: \(reason). The next change does it."
    case .unfinishedWriteDropped(let byteCount):
      "An interrupted write left \(byteCount) bytes, which were dropped; it was never confirmed."
    case .interruptedChangeFinished:
      "A change that was interrupted before it was confirmed has been finished."
    case .anchorNotSaved(let reason):
      "The anchor was not saved: \(reason). The next change saves one."
    case .compactionFailed(let reason):
      "The journal was not compacted: \(reason). The store goes on as it is."
    case .keyMemoryNotLocked:
      "The keys are not locked into memory and may reach swap; raise the limit with ulimit -l."
    case .parentExposed(let reason, let remedy):
      "Another store can be put in this one's place, because \(reason). Run \(remedy)."
    }
  }
}

extension SealedFileStore.Options {
  /// The same, with notices that reach ``SessionEvent/observer`` as well.
  func tellingObserver(of path: String) -> Self {
    var options = self
    options.onNotice = { [onNotice] notice in
      onNotice?(notice)
      SessionEvent.tell(.storeNotice(store: path, "\(notice)"))
    }
    return options
  }
}
