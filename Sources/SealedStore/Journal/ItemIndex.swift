import SecretStores

/// An index of the newest record of every item.
///
/// It is a dense array of entries, 32 bytes for each item, and a table of positions in the array,
/// 11 to 22 bytes for each item. The table is searched by tag: open addressing with linear probing.
/// Tags are keyed hashes, so no one without the key can make them collide.
struct ItemIndex: Sendable {
  /// The newest record of an item.
  struct Entry: Sendable {
    let tag: ItemTag
    /// The start of the record in the journal.
    let offset: UInt64
    private let length: UInt32
    /// The first four bytes of the record's nonce.
    ///
    /// With tag and length they distinguish the record from any other that was ever sealed for this
    /// place, including one of a change that was dropped.
    private let nonceStart: UInt32

    init(tag: ItemTag, offset: UInt64, recordByteCount: Int, nonceStart: UInt32) {
      self.tag = tag
      self.offset = offset
      length = UInt32(recordByteCount)
      self.nonceStart = nonceStart
    }

    /// Creates the entry of a record that starts at an offset.
    init(_ prefix: RecordPrefix, at offset: Int) {
      self.init(
        tag: prefix.tag, offset: UInt64(offset), recordByteCount: prefix.recordByteCount,
        nonceStart: prefix.nonceStart)
    }

    /// The length of the record.
    var recordByteCount: Int { Int(length) }

    /// Returns whether this is the entry of a record with this prefix; a removal has no entry.
    func isEntry(of prefix: RecordPrefix) -> Bool {
      prefix.tag == tag && !prefix.kind.contains(.removed) && hasPlace(of: prefix)
    }

    /// Returns the same without a look at tag and kind, which may be masked.
    func hasPlace(of prefix: RecordPrefix) -> Bool {
      prefix.nonceStart == nonceStart && prefix.recordByteCount == recordByteCount
    }

    /// Returns whether this is an entry of the same record, which may be a copy elsewhere.
    func isSameRecord(as other: Entry) -> Bool {
      tag == other.tag && length == other.length && nonceStart == other.nonceStart
    }
  }

  /// A position in `entries` with a part of the entry's tag.
  ///
  /// The part lets a search skip other items without a look at their entries, which are not in the
  /// processor's cache.
  private struct Slot {
    static let free = Slot(position: .max, hint: 0)

    var position: UInt32
    let hint: UInt32

    init(position: UInt32, hint: UInt32) {
      self.position = position
      self.hint = hint
    }

    /// Takes the hint from the half of the tag that does not determine where a search begins.
    ///
    /// The lowest byte of that half is zero.
    static func hint(of tag: ItemTag) -> UInt32 { UInt32(truncatingIfNeeded: tag.bytes.low >> 8) }

    var isFree: Bool { position == Slot.free.position }
  }

  private static let minimumTableCount = 16

  private(set) var entries: [Entry] = []
  /// The slots; their number is a power of two, and at most three quarters of them are taken.
  private var table = [Slot](repeating: .free, count: minimumTableCount)

  /// A meaningless value: if fetched data were not used, the compiler would remove the fetch.
  private var fetched: UInt32 = 0

  var count: Int { entries.count }

  subscript(tag: ItemTag) -> Entry? {
    let slot = table[place(of: tag)]
    return slot.isFree ? nil : entries[Int(slot.position)]
  }

  /// Adds an entry, or replaces the one with the same tag and returns that.
  mutating func update(_ entry: Entry) -> Entry? {
    let place = place(of: entry.tag)
    let slot = table[place]
    if !slot.isFree {
      let old = entries[Int(slot.position)]
      entries[Int(slot.position)] = entry
      return old
    }
    table[place] = Slot(position: UInt32(entries.count), hint: Slot.hint(of: entry.tag))
    entries.append(entry)
    if entries.count * 4 > table.count * 3 { rebuild(tableCount: table.count * 2) }
    return nil
  }

  /// Removes an item and returns its entry.
  mutating func remove(_ tag: ItemTag) -> Entry? {
    let place = place(of: tag)
    let slot = table[place]
    guard !slot.isFree else { return nil }
    let removed = entries[Int(slot.position)]
    let last = entries.count - 1
    if Int(slot.position) != last {
      table[self.place(of: entries[last].tag)].position = slot.position
      entries[Int(slot.position)] = entries[last]
    }
    entries.removeLast()
    close(place)
    return removed
  }

  /// Makes room for a number of items, to save growing step by step.
  mutating func reserve(_ count: Int) {
    entries.reserveCapacity(count)
    var tableCount = table.count
    while count * 4 > tableCount * 3 { tableCount *= 2 }
    if tableCount > table.count { rebuild(tableCount: tableCount) }
  }

  /// Brings the places where tags will be searched into the processor's cache.
  ///
  /// Tags are spread over the whole table. If their places are read one by one between other work,
  /// the processor waits for each; if they are read in a row, the waits overlap.
  mutating func fetchPlaces(of tags: some Sequence<ItemTag>) {
    let mask = table.count - 1
    for tag in tags { fetched ^= table[Int(truncatingIfNeeded: tag.bytes.high) & mask].position }
  }

  /// Returns the place of a tag in the table, or the free place where it would go.
  private func place(of tag: ItemTag) -> Int {
    let mask = table.count - 1
    let hint = Slot.hint(of: tag)
    var place = Int(truncatingIfNeeded: tag.bytes.high) & mask
    while true {
      let slot = table[place]
      if slot.isFree { return place }
      if slot.hint == hint, entries[Int(slot.position)].tag == tag { return place }
      place = (place + 1) & mask
    }
  }

  /// Frees a place and moves back the slots behind it that were pushed past it, so that no search
  /// stops too early.
  private mutating func close(_ freed: Int) {
    let mask = table.count - 1
    var hole = freed
    var place = freed
    while true {
      place = (place + 1) & mask
      let slot = table[place]
      if slot.isFree { break }
      let home = Int(truncatingIfNeeded: entries[Int(slot.position)].tag.bytes.high) & mask
      // The slot stays if its home lies cyclically behind the hole.
      if (place - home) & mask < (place - hole) & mask { continue }
      table[hole] = slot
      hole = place
    }
    table[hole] = .free
  }

  private mutating func rebuild(tableCount: Int) {
    table = [Slot](repeating: .free, count: tableCount)
    let mask = tableCount - 1
    for (position, entry) in entries.enumerated() {
      // No two entries have the same tag, so the first free slot is the right place.
      var place = Int(truncatingIfNeeded: entry.tag.bytes.high) & mask
      while !table[place].isFree { place = (place + 1) & mask }
      table[place] = Slot(position: UInt32(position), hint: Slot.hint(of: entry.tag))
    }
  }
}

/// The newest record of every item, and their total length.
struct LiveRecords: Sendable {
  /// The index of the records.
  private(set) var index = ItemIndex()
  /// The total length of the records.
  private(set) var byteCount = 0

  /// Makes an entry the newest of its item, or removes the item.
  mutating func apply(_ entry: ItemIndex.Entry, isRemoved: Bool) {
    let old: ItemIndex.Entry?
    if isRemoved {
      old = index.remove(entry.tag)
    } else {
      old = index.update(entry)
      byteCount += entry.recordByteCount
    }
    byteCount -= old?.recordByteCount ?? 0
  }

  /// Makes entries the newest of their items, or removes the items, in this order.
  mutating func apply(_ records: ArraySlice<PendingRecords.Element>) {
    for start in stride(from: records.startIndex, to: records.endIndex, by: Self.batchCount) {
      let batch = records[start..<min(start + Self.batchCount, records.endIndex)]
      index.fetchPlaces(of: batch.lazy.map(\.entry.tag))
      for (entry, isRemoved) in batch { apply(entry, isRemoved: isRemoved) }
    }
  }

  /// At least as many places as a processor can wait for at the same time.
  private static let batchCount = 32

  /// Makes room for a number of items, to save growing step by step.
  mutating func reserve(_ count: Int) {
    index.reserve(count)
  }
}

/// Records that a walk passed and that are not in the index yet.
struct PendingRecords {
  typealias Element = (entry: ItemIndex.Entry, isRemoved: Bool)

  /// The number of records that are moved to the index at once: enough to fetch their places
  /// together, and few enough to keep.
  private static let movedAtOnceCount = 1024

  private(set) var records: [Element] = []

  mutating func append(_ prefix: RecordPrefix, at offset: Int) {
    records.append((ItemIndex.Entry(prefix, at: offset), prefix.kind.contains(.removed)))
  }

  /// Drops the records from a place on.
  mutating func drop(from place: Int) {
    records.removeSubrange(place...)
  }

  /// Whether there are enough to move them.
  var isMany: Bool { records.count >= Self.movedAtOnceCount }

  /// Moves all records to the live ones.
  mutating func moveAll(to live: inout LiveRecords) {
    live.apply(records[...])
    records.removeAll(keepingCapacity: true)
  }
}
