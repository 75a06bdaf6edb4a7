/// All stores that an attacker without a key can assemble from pieces of old files.
///
/// With the newest mark, opening must give the newest state, a state with a change behind it that
/// is still pending, or an error. With an older mark, opening must give the mark's state, a later
/// state that the store really had, or an error. No mark may give an earlier state than its own.
struct Splices {
  let world: World

  /// Tries all stores.
  ///
  /// - Returns: The number of stores.
  /// - Throws: A violation if a store opens that must not open.
  func check() throws(Violation) -> Int {
    var count = 0
    let journals = journals
    let headers = headers
    for mark in world.life.marks.indices {
      for journal in journals {
        for headers in headers {
          count += 1
          try check(mark: mark, journal: journal, headers: headers)
        }
      }
    }
    return count
  }

  private func check(mark: Int, journal: [Cell], headers: [Cell]) throws(Violation) {
    let found = world.found(journal: journal, mark: .mark(mark), headers: headers, slot: 0)
    let answer = CommitOracle(world.life, rules: world.scenario.rules).answer(for: found)
    guard case .state(let recovery) = answer else { return }
    // Items that an accident destroyed are missing after a repair.
    let state = world.ledger.withoutLost(world.states[recovery.state])
    let marked = world.ledger.withoutLost(
      world.states[world.life.state(at: world.life.marks[mark].end)])
    let isNewest = mark == world.newestMark
    let name = isNewest ? "the newest mark" : "mark \(mark)"
    guard state.starts(with: marked) else {
      throw Violation("\(name) of \(marked) with journal \(journal) gives \(state)")
    }
    if isNewest, let change = state.first(where: world.ledger.dropped.contains) {
      throw Violation("\(name) with journal \(journal) gives \(change), which was dropped")
    }
  }

  /// All headers that ever existed, in both places.
  private var headers: [[Cell]] {
    let all = world.headers.indices.map { Cell.header($0) }
    guard all.count > 1 else { return [[all[0], .zero]] }
    return all.flatMap { header in ([.zero] + all).map { [header, $0] } }
  }

  /// All journals that ever existed, cut anywhere, with any cell zero or from another journal.
  private var journals: [[Cell]] {
    var result: Set<[Cell]> = []
    let whole = wholeJournals
    for cells in whole {
      for count in 1...cells.count { result.insert(Array(cells[..<count])) }
      for place in 1..<max(1, cells.count) {
        var torn = cells
        torn[place] = .zero
        result.insert(torn)
        for other in whole where place < other.count && other[place] != cells[place] {
          var mixed = cells
          mixed[place] = other[place]
          result.insert(mixed)
          result.insert(Array(cells[..<place] + other[place...]))
        }
      }
    }
    return Array(result)
  }

  /// The journals up to each change without a successor.
  private var wholeJournals: [[Cell]] {
    let changes = world.life.changes
    let ends = changes.indices.filter { change in !changes.contains { $0.previous == change } }
    return ends.map { end in
      [.head(changes[end].journal)]
        + world.life.path(to: end).reversed().flatMap { world.parts(of: $0) }
    }
  }
}
