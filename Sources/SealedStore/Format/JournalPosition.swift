/// A place between two records of a journal.
struct RecordPosition: Hashable, Sendable {
  /// The bytes of the journal before it.
  var byteCount: Int
  /// The number of the record before it; 0 at the start.
  var number: UInt64
  /// The chain value of the record before it, or of the head.
  var chain: ChainValue
}

/// A place between two changes of a journal.
struct JournalPosition: Hashable, Sendable {
  var record: RecordPosition
  /// The number of changes made to the store up to here.
  var version: UInt64

  var byteCount: Int { record.byteCount }
  var number: UInt64 { record.number }
  var chain: ChainValue { record.chain }
}
