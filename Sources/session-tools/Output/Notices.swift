import SealedStore

/// What a store mended or met on the way, in a sentence.
enum Notices {
  /// Says it on standard error.
  static let tell: @Sendable (StoreNotice) -> Void = { notice in
    StandardError.say("session-tools: \(sentence(notice))")
  }

  private static func sentence(_ notice: StoreNotice) -> String {
    switch notice {
    case .headerReadFromCopy:
      "The header is missing or damaged, so its copy was used; the next change mends it."
    case .headersMadeEqual:
      "The header and its copy differed and were made equal again."
    case .rotationFinished:
      "A rotation that was interrupted has been finished."
    case .unfinishedWriteCutOff(let byteCount, let keptAt):
      "An interrupted write left \(Size.text(byteCount)), which were cut off"
        + (keptAt.map { " and kept in \($0)." } ?? ".")
    case .markNotWritten:
      "The mark could not be written; the change is durable all the same."
    case .compactionFailed(let reason):
      "The journal was not compacted: \(reason). The store goes on as it is."
    case .keyMemoryNotLocked:
      "The key is not locked into memory and may reach swap; raise the limit with ulimit -l."
    }
  }
}
