package import SecretStores

/// Records that are sealed and opened as in changes and reads, but without files, for benchmarks.
package struct RecordsInMemory {
  private let keys: KeyRing
  private let memory = SealingMemory(random: SystemRandomSource())
  private let journal: JournalIdentifier
  private let start: JournalPosition

  /// Makes keys.
  ///
  /// - Throws: `unavailable` when the system gives no memory.
  package init() throws(StoreError) {
    let random = SystemRandomSource()
    let (storeKey, dataKey) = (try KeyBytes(), try KeyBytes())
    random.fill(storeKey)
    random.fill(dataKey)
    keys = try KeyRing(storeKey: storeKey, dataKey: dataKey)
    journal = JournalIdentifier(bytes: random.bytes16())
    start = JournalPosition(
      record: RecordPosition(byteCount: 0, number: 0, chain: ChainValue(bytes: random.bytes16())),
      version: 0)
  }

  /// Seals a change that puts one value.
  ///
  /// - Returns: The record of the value.
  package func seal(_ value: SecretBytes, for name: ItemName) -> ByteBuffer {
    SealedChange(
      of: [UnsealedRecord(.put(value, for: name))], journal: journal, after: start,
      fileByteCount: .max, keys: keys, memory: memory
    ).buffer
  }

  /// Opens a copy of a record in the same way as one that was read from a file.
  ///
  /// - Returns: The value; `nil` when the record is not that of the name.
  package func open(_ record: ByteBuffer, of canonicalName: ByteBuffer) -> SecretBytes? {
    let entry = ItemIndex.Entry(
      tag: ItemTag(of: canonicalName, 0..<canonicalName.byteCount, tagKey: keys.tagKey), offset: 0,
      recordByteCount: record.byteCount, nonceStart: RecordPrefix.nonceStart(record, at: 0))
    return SealedRecord(copying: record, in: journal).value(of: entry, keys)
  }
}
