import CSessionToolsSodium
import SessionToolsStoreTestSupport
import Synchronization

/// A replay that stops the machine at every point of a recorded life and checks all resulting
/// states.
struct CrashReplay {
  /// One state of this many is verified record by record, which takes as long as all other checks.
  private static let thoroughShare: UInt64 = 4

  /// The settings for a second crash, while the store is opened and written to after the first.
  struct Second: Sendable {
    /// One state of this many is continued.
    let share: UInt64
    let limits: CrashLimits
  }

  /// The result of a replay.
  struct Outcome: Sendable {
    /// The number of different directories that were checked.
    var stateCount = 0
    /// The number of those that a second crash left.
    var secondCount = 0
    /// Descriptions of the first few problems.
    var problems: [String] = []
  }

  private struct Progress {
    /// All states that were seen, and the states that were checked against a range of moments.
    var seen: Set<Digest> = []
    var checked: Set<Check> = []
    var secondCount = 0
    var problems: [String] = []
  }

  private struct Digest: Hashable, Sendable {
    let low: UInt64
    let high: UInt64
  }

  private struct Check: Hashable {
    let digest: Digest
    let allowed: ClosedRange<Int>
  }

  let life: CrashLife
  let limits: CrashLimits
  var second: Second?
  var threadCount = 2
  /// The first point to check; the points before it are known to have no problem.
  var firstPoint = 0
  /// The largest number of reported problems, because a broken store would fill the log.
  var mostProblems = 5

  /// Replays the life.
  func run() throws -> Outcome {
    let points = try life.points()
    let progress = Locked(Progress())
    let next = Locked(firstPoint)
    let replay = { @Sendable in
      while progress.withLock({ $0.problems.count < mostProblems }),
        let position = next.withLock({ next in
          next += 1
          return next > points.count ? nil : next - 1
        })
      {
        try inspect(at: points[position], position, progress)
      }
    }
    if threadCount > 1 {
      try inThreads(threadCount) { _ in try replay() }
    } else {
      try replay()
    }
    let result = progress.value
    return Outcome(
      stateCount: result.seen.count + result.secondCount, secondCount: result.secondCount,
      problems: result.problems)
  }

  private func inspect(
    at point: CrashLife.Point, _ position: Int, _ progress: Locked<Progress>
  ) throws {
    let check = CrashCheck(life: life)
    try point.disk.forEachCrash(limits, seed: UInt64(position)) { state in
      let digest = Self.digest(of: state.content)
      let isNew = progress.withLock { progress in
        progress.seen.insert(digest)
        return progress.problems.count < mostProblems
          && progress.checked.insert(Check(digest: digest, allowed: point.allowed)).inserted
      }
      guard isNew else { return }
      var problems = [String]()
      if let problem = check.problem(
        with: state.content, allowed: point.allowed,
        isThorough: digest.low % Self.thoroughShare == 0)
      {
        problems.append(problem)
      } else if let second, let content = state.content, digest.high % second.share == 0 {
        let outcome = try crashAgain(content, point, second)
        progress.withLock { $0.secondCount += outcome.stateCount }
        problems += outcome.problems.map { "then \($0)" }
      }
      guard !problems.isEmpty else { return }
      progress.withLock {
        $0.problems += problems.map {
          "step \(position), \(point.step): \($0) [\(state.summary)]"
        }
      }
    }
  }

  /// Opens the remains of the crash, writes to them, and stops the machine at every point of that.
  private func crashAgain(
    _ content: RecordedDisk.Content, _ point: CrashLife.Point, _ second: Second
  ) throws -> Outcome {
    let keys = life.moments[point.allowed.lowerBound].keys.intersection(
      life.moments[point.allowed.upperBound].keys)
    guard let key = keys.sorted().first else { return Outcome() }
    let life = try CrashLife(goingOnWith: content, by: key)
    var replay = CrashReplay(life: life, limits: second.limits)
    replay.threadCount = 1
    replay.mostProblems = 1
    return try replay.run()
  }

  private static func digest(of content: RecordedDisk.Content?) -> Digest {
    var bytes: [UInt8] = []
    for (name, file) in (content ?? ["": []]).sorted(by: { $0.key < $1.key }) {
      bytes += "\(name)/\(file.count)/".utf8
      bytes += file
    }
    var digest: [UInt64] = [0, 0]
    unsafe digest.withUnsafeMutableBytes { digest in
      guard let start = digest.baseAddress else { return }
      _ = unsafe crypto_generichash(
        start.assumingMemoryBound(to: UInt8.self), digest.count, bytes, UInt64(bytes.count), nil, 0)
    }
    return Digest(low: digest[0], high: digest[1])
  }
}
