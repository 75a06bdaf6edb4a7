/// One path through a scenario: all choices and, if requested, notes of the events.
struct Run {
  /// One choice of this many may be an unusual one.
  private static let usualShare = 8

  private struct Choice {
    let value: Int
    let count: Int
  }

  /// The first choices; later choices are always the first alternative, or random.
  private let planned: [Int]
  private var made: [Choice] = []
  private var random: ModelRandom?
  /// Descriptions of the events; `nil` if nothing is noted.
  private(set) var notes: [String]?

  /// Makes a run with planned first choices.
  init(planned: [Int] = [], isNoting: Bool = false) {
    self.planned = planned
    notes = isNoting ? [] : nil
  }

  /// Makes a random run.
  init(seed: UInt64) {
    self.init()
    random = ModelRandom(seed: seed)
  }

  /// Picks one of `count` alternatives; the simplest is 0.
  mutating func pick(_ count: Int) -> Int { pick(count, mostly: count) }

  /// Picks one of `count` alternatives; a random run mostly picks one of the first.
  mutating func pick(_ count: Int, mostly usualCount: Int) -> Int {
    guard count > 1 else { return 0 }
    let value =
      made.count < planned.count ? planned[made.count] : random(count, mostly: usualCount)
    made.append(Choice(value: value, count: count))
    return value
  }

  private mutating func random(_ count: Int, mostly usualCount: Int) -> Int {
    guard random != nil else { return 0 }
    let isUsual = usualCount > 0 && random?.next(below: Self.usualShare) != 0
    return random?.next(below: isUsual ? usualCount : count) ?? 0
  }

  mutating func flip() -> Bool { pick(2) == 1 }

  mutating func note(_ text: @autoclosure () -> String) {
    if notes != nil { notes?.append(text()) }
  }

  /// The values of all choices.
  var choices: [Int] { made.map(\.value) }

  /// The choices of the next run in order; `nil` after the last.
  var successor: [Int]? {
    guard let place = made.lastIndex(where: { $0.value + 1 < $0.count }) else { return nil }
    return made[..<place].map(\.value) + [made[place].value + 1]
  }
}

/// A generator of random numbers that are the same for the same seed (SplitMix64).
struct ModelRandom {
  private var state: UInt64

  init(seed: UInt64) {
    state = seed
  }

  mutating func next(below count: Int) -> Int {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return Int((mixed ^ (mixed >> 31)) % UInt64(count))
  }
}
