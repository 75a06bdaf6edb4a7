import SessionToolsTestSupport

/// One state that a directory may be found in after the machine has stopped.
package struct CrashState {
  /// The files by their names; `nil` when the directory is missing.
  package let content: RecordedDisk.Content?
  fileprivate var names: [Bool] = []
  fileprivate var files: [FileChoices] = []
  fileprivate var choice: [Int] = []

  /// A readable description of what reached the disk.
  package var summary: String {
    "changes of names \(names), files \(files.map(\.summary)), of these \(choice)"
  }
}

/// Limits on the number of states to check.
package struct CrashLimits: Sendable {
  /// The largest number of states, for one set of names, of which all are checked.
  package var complete: Int
  /// The number of states chosen at random when there are more, in addition to those with one
  /// thing missing or alone and those with a beginning or an end.
  package var chosen: Int

  package init(complete: Int, chosen: Int) {
    self.complete = complete
    self.chosen = chosen
  }
}

extension RecordedDisk {
  /// The most changes of names that are combined in every way.
  private static let mostCombinedNameChanges = 6

  /// Calls a closure with possible states, some of them more than once.
  ///
  /// The same seed always gives the same states.
  package func forEachCrash(
    _ limits: CrashLimits, seed: UInt64, _ body: (CrashState) throws -> Void
  ) rethrows {
    if mayBeMissing { try body(CrashState(content: nil)) }
    var generator = SeededGenerator(seed: seed)
    var seen: Set<[String: Int]> = []
    for kept in keptNameChanges(&generator) {
      let names = names { kept[$0] }
      guard seen.insert(names).inserted else { continue }
      let files = Set(names.values).sorted().compactMap { number in
        self.files[number].map { FileChoices(number: number, file: $0) }
      }
      try Choices(files.flatMap(\.counts)).forEach(limits, &generator) { choice in
        var rest = choice[...]
        var contents: [Int: [UInt8]] = [:]
        for file in files {
          contents[file.number] = file.content(rest.prefix(file.counts.count))
          rest.removeFirst(file.counts.count)
        }
        try body(
          CrashState(
            content: names.compactMapValues { contents[$0] }, names: kept, files: files,
            choice: choice))
      }
    }
  }

  private func keptNameChanges(_ generator: inout SeededGenerator) -> [[Bool]] {
    var kept: [[Bool]] = []
    Choices([Int](repeating: 2, count: pendingCount)).forEach(
      CrashLimits(complete: 1 << Self.mostCombinedNameChanges, chosen: 32), &generator
    ) { kept.append($0.map { $0 == 1 }) }
    return kept
  }
}

/// The choices that one file leaves: its length first, then its sectors.
private struct FileChoices {
  let number: Int
  let file: CachedFile
  let counts: [Int]

  init(number: Int, file: CachedFile) {
    self.number = number
    self.file = file
    counts = [file.byteCounts.count] + file.openSectors.map { file.sectors[$0].count }
  }

  var summary: String { "\(number): lengths \(file.byteCounts), sectors \(file.openSectors)" }

  func content(_ choice: ArraySlice<Int>) -> [UInt8] {
    guard let byteCount = choice.first else { return [] }
    return file.content(byteCount: byteCount, versions: choice.dropFirst())
  }
}

/// A list of independent choices, each among a number of values from the oldest to the newest.
private struct Choices {
  private let counts: [Int]

  init(_ counts: [Int]) {
    self.counts = counts
  }

  func forEach(
    _ limits: CrashLimits, _ generator: inout SeededGenerator, _ body: ([Int]) throws -> Void
  ) rethrows {
    var total = 1
    for count in counts where total <= limits.complete { total *= count }
    if total <= limits.complete { return try forAll(body) }
    try forRegular(body)
    for _ in 0..<limits.chosen {
      // The percentage of choices that are certain to take the newest value.
      let share = generator.next() % 101
      try body(
        counts.map { count in
          guard count > 1 else { return 0 }
          if generator.next() % 100 < share { return count - 1 }
          return Int(generator.next() % UInt64(count))
        })
    }
  }

  private func forAll(_ body: ([Int]) throws -> Void) rethrows {
    var choice = [Int](repeating: 0, count: counts.count)
    while true {
      try body(choice)
      guard let place = choice.indices.first(where: { choice[$0] + 1 < counts[$0] }) else { return }
      choice[place] += 1
      for lower in 0..<place { choice[lower] = 0 }
    }
  }

  /// Visits nothing and everything; each thing missing, and alone; each beginning and each end; and
  /// each value of each choice among otherwise newest and otherwise oldest values.
  private func forRegular(_ body: ([Int]) throws -> Void) rethrows {
    let oldest = [Int](repeating: 0, count: counts.count)
    let newest = counts.map { $0 - 1 }
    try body(oldest)
    try body(newest)
    for (place, count) in counts.enumerated() where count > 1 {
      for value in 0..<count {
        for base in [oldest, newest] {
          var choice = base
          choice[place] = value
          try body(choice)
        }
      }
      try body(Array(newest[...place] + oldest[(place + 1)...]))
      try body(Array(oldest[...place] + newest[(place + 1)...]))
    }
  }
}
