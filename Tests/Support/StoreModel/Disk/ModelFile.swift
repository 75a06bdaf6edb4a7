/// A file in the kernel's cache and on the disk.
struct ModelFile: Hashable, Sendable {
  private struct Slot: Hashable, Sendable {
    var cached = Sector()
    var disk = Sector()
    /// The cached contents since the last sync, the oldest first; empty if the sector is clean.
    var unsynced: [Sector] = []
    /// Whether the kernel treats the cached content as clean although it never reached the disk.
    var isLost = false

    /// Chooses a content that the disk may have; the newest is the first choice.
    func possible(_ run: inout Run) -> Sector {
      var possible = [disk]
      for sector in unsynced where !possible.contains(sector) { possible.append(sector) }
      return possible[possible.count - 1 - run.pick(possible.count)]
    }
  }

  private var slots: [Slot] = []
  /// Whether the kernel failed to write the file back and no sync has reported that yet.
  private var hasUnreportedError = false

  /// Makes a file that is on the disk.
  init(_ cells: [Cell] = []) {
    write(cells, at: 0)
    synchronize()
  }

  /// The cells that programs read.
  var cached: [Cell] { slots.flatMap { [$0.cached.first, $0.cached.second] } }

  /// The cells that a direct read returns.
  var onDisk: [Cell] { slots.flatMap { [$0.disk.first, $0.disk.second] } }

  var isDirty: Bool { slots.contains { !$0.unsynced.isEmpty } }

  var hasLost: Bool { slots.contains { $0.isLost } }

  /// The first cell of the file, which is the whole content of a mark or a header.
  var content: Cell { slots.first?.cached.first ?? .zero }

  /// Writes cells as one call; every sector gets one new content.
  mutating func write(_ cells: [Cell], at offset: Int) {
    guard !cells.isEmpty else { return }
    let end = offset + cells.count
    while slots.count * Sector.cellCount < end { slots.append(Slot()) }
    for number in offset / Sector.cellCount...(end - 1) / Sector.cellCount {
      var sector = slots[number].cached
      for position in 0..<Sector.cellCount {
        let place = number * Sector.cellCount + position
        if place >= offset, place < end { sector[position] = cells[place - offset] }
      }
      slots[number].cached = sector
      slots[number].unsynced.append(sector)
      slots[number].isLost = false
    }
  }

  /// Writes zeros behind an offset, as a truncation and a new reserve do.
  mutating func cut(to count: Int) {
    let rest = slots.count * Sector.cellCount - count
    if rest > 0 { write([Cell](repeating: .zero, count: rest), at: count) }
  }

  mutating func synchronize() {
    for number in slots.indices where !slots[number].unsynced.isEmpty {
      slots[number].disk = slots[number].cached
      slots[number].unsynced = []
    }
  }

  /// Fails a sync: each dirty sector keeps its content or gets any later one, and all are clean.
  mutating func failSynchronizing(_ run: inout Run) {
    for number in slots.indices where !slots[number].unsynced.isEmpty {
      slots[number].disk = slots[number].possible(&run)
      slots[number].isLost = slots[number].disk != slots[number].cached
      slots[number].unsynced = []
    }
  }

  /// Lets the kernel fail to write the file back, which the next sync reports.
  ///
  /// - Parameters:
  ///   - isWhole: Whether nothing reached the disk since the last sync.
  ///   - run: The source of the choices if something may have reached it.
  mutating func failWritingBack(isWhole: Bool, _ run: inout Run) {
    hasUnreportedError = true
    guard isWhole else { return failSynchronizing(&run) }
    for number in slots.indices where !slots[number].unsynced.isEmpty {
      slots[number].isLost = slots[number].disk != slots[number].cached
      slots[number].unsynced = []
    }
  }

  /// Returns whether an earlier failure is to be reported, as a sync does once.
  mutating func reportError() -> Bool {
    defer { hasUnreportedError = false }
    return hasUnreportedError
  }

  /// Evicts clean pages from the cache: lost sectors are read from the disk again.
  mutating func evict() {
    for number in slots.indices where slots[number].isLost {
      slots[number].cached = slots[number].disk
      slots[number].isLost = false
    }
  }

  /// Stops the machine: each unsynced sector keeps its content on the disk, or gets any later one.
  mutating func stop(_ run: inout Run) {
    for number in slots.indices {
      let sector = slots[number].possible(&run)
      slots[number] = Slot(cached: sector, disk: sector)
    }
  }
}
