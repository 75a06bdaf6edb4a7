extension World {
  /// Performs an operation on the files from outside of the store.
  mutating func interfere(
    _ operation: Operation, _ process: Int, _ run: inout Run
  ) throws(Violation) {
    note("\(operation)", process, &run)
    switch operation {
    case .keepCopy:
      keepCopy()
    case .putBack(let inPlace):
      putBack(inPlace: inPlace)
    case .tear(let last):
      tear(last: last, &run)
    case .putChangeBack:
      putChangeBack(&run)
    case .damageRecord:
      damageRecord(&run)
    case .damageMark:
      damageMark(&run)
    case .read, .put, .compact, .rotate, .revoke, .repair, .close:
      break
    }
  }

  private mutating func keepCopy() {
    guard let journal = disk[.journal], let mark = disk[.mark] else { return }
    copy = Copy(
      journal: disk.files[journal].cached, mark: disk.files[mark].cached, state: ledger.floor)
  }

  private mutating func putBack(inPlace: Bool) {
    guard let copy else { return }
    for (name, cells) in [(Name.journal, copy.journal), (.mark, copy.mark)] {
      if inPlace, let file = disk[name] {
        disk.files[file] = ModelFile(cells)
      } else {
        let file = disk.create(name)
        disk.files[file] = ModelFile(cells)
      }
    }
    disk.synchronizeNames()
    // An open reader may need 100 ms to detect that a file was replaced; they pass here.
    for process in processes.indices { processes[process].isNameCheckDue = true }
    ledger.mayBeCorrupt = true
    // A store opened from now on finds the state of the copy; open stores still remember theirs.
    ledger.floor = copy.state
    for process in processes.indices {
      let floor = processes[process].task.floor
      let count = zip(floor, copy.state).prefix { $0 == $1 }.count
      processes[process].task.floor = Array(floor.prefix(count))
    }
  }

  /// Replaces a part of a change in the journal with zeros, on the disk and in the cache.
  private mutating func tear(last: Bool, _ run: inout Run) {
    guard let file = disk[.journal] else { return }
    var cells = disk.files[file].cached
    let lastChange = cells.reduce(-1) { last, cell in
      if case .part(let change, _) = cell { change } else { last }
    }
    let places = cells.indices.filter {
      if case .part(let change, _) = cells[$0] { (change == lastChange) == last } else { false }
    }
    guard !places.isEmpty else { return }
    let place = places[places.count - 1 - run.pick(places.count)]
    run.note("   cell \(place)")
    cells[place] = .zero
    disk.files[file] = ModelFile(cells)
    ledger.mayBeCorrupt = true
  }

  private mutating func putChangeBack(_ run: inout Run) {
    guard let file = disk[.journal], case .head(let journal)? = disk.files[file].cached.first
    else { return }
    let changes = life.changes.indices.filter { life.changes[$0].journal == journal }
    guard !changes.isEmpty else { return }
    let change = changes[run.pick(changes.count)]
    run.note("   change \(change)")
    disk.files[file].write(parts(of: change), at: layouts[change].offset)
    disk.files[file].synchronize()
    ledger.mayBeCorrupt = true
  }

  private mutating func damageRecord(_ run: inout Run) {
    guard let file = disk[.journal] else { return }
    var cells = disk.files[file].cached
    let places = cells.indices.filter { if case .part = cells[$0] { true } else { false } }
    guard !places.isEmpty else { return }
    let place = places[run.pick(places.count)]
    guard case .part(let change, let part) = cells[place] else { return }
    cells[place] = .zero
    disk.files[file] = ModelFile(cells)
    var end = 0
    for record in layouts[change].records {
      end += record.partCount
      guard part < end else { continue }
      if let payload = record.payload { ledger.lost.append(payload) }
      break
    }
    ledger.mayBeCorrupt = true
  }

  private mutating func damageMark(_ run: inout Run) {
    guard let file = disk[.mark] else { return }
    if run.flip() {
      disk.remove(.mark)
      disk.synchronizeNames()
    } else {
      disk.files[file] = ModelFile([.noise])
    }
    ledger.mayBeCorrupt = true
  }
}
