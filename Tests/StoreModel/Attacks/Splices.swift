/// Every store that an attacker without a key can put together from pieces of old files.
///
/// The newest mark has to give the newest state, or one with a change behind it that is still
/// pending, or corrupt. An older mark has to give its own state or a later one that the store
/// really had, or corrupt. No mark gives less than its own state.
struct Splices {
  let world: World

  /// Tries all of them.
  ///
  /// - Returns: How many there were.
  /// - Throws: When a store opens that must not.
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
    guard case .state(let settlement) = answer else { return }
    // What an accident destroyed is missing after a repair.
    let state = world.ledger.withoutLost(world.states[settlement.state])
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

  /// The headers there ever were, in both places.
  private var headers: [[Cell]] {
    let all = world.headers.indices.map { Cell.header($0) }
    guard all.count > 1 else { return [[all[0], .zero]] }
    return all.flatMap { header in ([.zero] + all).map { [header, $0] } }
  }

  /// The journals there ever were, cut anywhere, with any cell zero or from another of them.
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

  /// For each last change of a journal the journal up to it.
  private var wholeJournals: [[Cell]] {
    let changes = world.life.changes
    let ends = changes.indices.filter { change in !changes.contains { $0.previous == change } }
    return ends.map { end in
      [.head(changes[end].journal)]
        + world.life.path(to: end).reversed().flatMap { world.parts(of: $0) }
    }
  }
}
