/// Where the newest record of every item is, in 32 bytes an item and 4 to 8 more for the way
/// there.
///
/// A dense array of entries, and a table of positions in it that is searched by the tag: open
/// addressing with linear probing. Tags are keyed hashes, so nobody without the key can make
/// them collide.
struct ItemIndex: Sendable {
  /// The newest record of an item.
  struct Entry: Sendable {
    let tag: ItemTag
    /// Where the record starts in the journal.
    let offset: UInt64
    /// The length of its sealed part.
    let sealedByteCount: UInt32
    /// The low half of the record's number: with tag and length it tells an exchanged record.
    let numberLow: UInt32

    var recordByteCount: Int { RecordPrefix.byteCount + Int(sealedByteCount) }
  }

  private static let free = UInt32.max
  private static let smallestTableCount = 16

  private(set) var entries: [Entry] = []
  /// Positions in `entries`; a power of two of them, at most three quarters taken.
  private var table = [UInt32](repeating: free, count: smallestTableCount)

  var count: Int { entries.count }

  subscript(tag: ItemTag) -> Entry? {
    let position = table[slot(of: tag)]
    return position == Self.free ? nil : entries[Int(position)]
  }

  /// Puts an entry in the place of the one with the same tag, which is returned.
  mutating func update(_ entry: Entry) -> Entry? {
    let slot = slot(of: entry.tag)
    let position = table[slot]
    if position != Self.free {
      let old = entries[Int(position)]
      entries[Int(position)] = entry
      return old
    }
    table[slot] = UInt32(entries.count)
    entries.append(entry)
    if entries.count * 4 > table.count * 3 { rebuild(tableCount: table.count * 2) }
    return nil
  }

  /// Takes an item out; its entry is returned.
  mutating func remove(_ tag: ItemTag) -> Entry? {
    let slot = slot(of: tag)
    let position = table[slot]
    guard position != Self.free else { return nil }
    let removed = entries[Int(position)]
    let last = entries.count - 1
    if Int(position) != last {
      table[self.slot(of: entries[last].tag)] = position
      entries[Int(position)] = entries[last]
    }
    entries.removeLast()
    close(slot)
    return removed
  }

  /// Makes room for a number of items, to save growing step by step.
  mutating func reserve(_ count: Int) {
    entries.reserveCapacity(count)
    var tableCount = table.count
    while count * 4 > tableCount * 3 { tableCount *= 2 }
    if tableCount > table.count { rebuild(tableCount: tableCount) }
  }

  /// Where a tag is in the table, or where it would go.
  private func slot(of tag: ItemTag) -> Int {
    let mask = table.count - 1
    var slot = Int(truncatingIfNeeded: tag.bytes.low) & mask
    while true {
      let position = table[slot]
      if position == Self.free || entries[Int(position)].tag == tag { return slot }
      slot = (slot + 1) & mask
    }
  }

  /// Frees a slot and moves those behind it that were pushed past it, so that no search stops
  /// too early.
  private mutating func close(_ freed: Int) {
    let mask = table.count - 1
    var hole = freed
    var slot = freed
    while true {
      slot = (slot + 1) & mask
      let position = table[slot]
      if position == Self.free { break }
      let home = Int(truncatingIfNeeded: entries[Int(position)].tag.bytes.low) & mask
      // Stays if its home lies cyclically behind the hole.
      if (slot - home) & mask < (slot - hole) & mask { continue }
      table[hole] = position
      hole = slot
    }
    table[hole] = Self.free
  }

  private mutating func rebuild(tableCount: Int) {
    table = [UInt32](repeating: Self.free, count: tableCount)
    for (position, entry) in entries.enumerated() {
      table[slot(of: entry.tag)] = UInt32(position)
    }
  }
}
