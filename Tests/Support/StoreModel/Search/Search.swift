/// A search that tries everything in a scenario for a broken promise.
package struct Search {
  /// The result of a search.
  package struct Outcome: Sendable {
    /// The number of different states, or of random runs.
    package var count = 0
    /// The number of runs that reached an end.
    package var endCount = 0
    /// The number of stores that were assembled from pieces.
    package var spliceCount = 0
    /// Whether everything was tried.
    package var isExhausted = false
    /// The promise that was broken.
    package var violation: String?
    /// The steps that led to it.
    package var trace: [String] = []

    /// A description of the extent of the search.
    package var summary: String {
      "\(count) \(isExhausted ? "states (all)" : "runs or states"), \(endCount) ends"
        + (spliceCount > 0 ? ", \(spliceCount) stores from pieces" : "")
    }

    /// The broken promise with its steps, or a text that nothing was found.
    package var report: String {
      ([violation ?? "nothing found in \(summary)"] + trace).joined(separator: "\n")
    }
  }

  private struct Frame {
    let world: World
    /// The next choices here; `nil` after the last.
    var next: [Int]?
    /// The choices that led deeper.
    var taken: [Int] = []
  }

  private let scenario: Scenario
  private var outcome = Outcome()

  private init(_ scenario: Scenario) {
    self.scenario = scenario
  }

  /// Searches a scenario within its bounds.
  package static func run(_ scenario: Scenario) -> Outcome {
    var search = Search(scenario)
    switch scenario.bounds {
    case .all(let limit), .some(let limit): search.searchAll(limit)
    case .random(let runs, let seed): search.searchByChance(runs, seed)
    }
    return search.outcome
  }

  private mutating func searchAll(_ limit: Int) {
    let start = World(scenario)
    var seen: Set<Int> = [start.fingerprint]
    var frames = [Frame(world: start, next: [])]
    while let choices = frames.last?.next {
      var run = Run(planned: choices)
      let place = frames.count - 1
      var world = frames[place].world
      do throws(Violation) {
        let isNotEnd = try world.advance(&run)
        if !isNotEnd { try end(world) }
        frames[place].next = run.successor
        if isNotEnd, seen.insert(world.fingerprint).inserted {
          frames[place].taken = run.choices
          frames.append(Frame(world: world, next: []))
        }
      } catch {
        return explain(error, frames.dropLast().map(\.taken) + [run.choices])
      }
      while let last = frames.last, last.next == nil { frames.removeLast() }
      outcome.count = seen.count
      if seen.count >= limit { return }
    }
    outcome.isExhausted = true
  }

  private mutating func searchByChance(_ runs: Int, _ seed: UInt64) {
    for number in 0..<runs {
      var run = Run(seed: seed &+ UInt64(number) &* 0x1_0000_0001)
      var world = World(scenario)
      outcome.count += 1
      do throws(Violation) {
        while try world.advance(&run) {}
        try end(world)
      } catch {
        return explain(error, [run.choices])
      }
    }
  }

  private mutating func end(_ world: World) throws(Violation) {
    outcome.endCount += 1
    if scenario.hasSplices { outcome.spliceCount += try Splices(world: world).check() }
  }

  /// Repeats the run that broke a promise, with notes.
  private mutating func explain(_ violation: Violation, _ choices: [[Int]]) {
    outcome.violation = violation.description
    var run = Run(planned: choices.flatMap(\.self), isNoting: true)
    var world = World(scenario)
    do throws(Violation) {
      while try world.advance(&run) {}
      try end(world)
    } catch {
      run.note("!! \(error)")
    }
    outcome.trace = run.notes ?? []
  }
}
