import CSodium
import StoreTestSupport
import Synchronization

/// Stops the machine at every point of a recorded life, and looks at what may be found then.
struct CrashReplay {
  /// One state of so many is verified record by record, which takes as long as all the rest.
  private static let thoroughShare: UInt64 = 4

  /// What came of it.
  struct Outcome: Sendable {
    /// How many different directories were looked at.
    var stateCount = 0
    /// What was wrong, for the first few.
    var problems: [String] = []
  }

  private struct Progress {
    /// What was seen at all, and what was checked against which promise.
    var seen: Set<Digest> = []
    var checked: Set<Check> = []
    var problems: [String] = []
  }

  private struct Digest: Hashable, Sendable {
    let low: UInt64
    let high: UInt64
  }

  private struct Check: Hashable {
    let digest: Digest
    let confirmed: Int
  }

  /// What the disk may hold at one point, and what was confirmed by then.
  private struct Point: Sendable {
    let disk: RecordedDisk
    let step: String
    let confirmed: Int
  }

  let life: CrashLife
  let limits: CrashLimits
  /// Enough to see what is wrong; a broken store would fill the log.
  var mostProblems = 5

  /// Replays on two threads.
  func run() throws -> Outcome {
    let points = self.points
    let check = CrashCheck(life: life)
    let (limits, mostProblems) = (limits, mostProblems)
    let progress = Locked(Progress())
    let next = Locked(0)
    try inThreads(2) { _ in
      while let position = next.withLock({ next in
        next += 1
        return next > points.count ? nil : next - 1
      }) {
        let point = points[position]
        point.disk.forEachCrash(limits, seed: UInt64(position)) { state in
          let digest = Self.digest(of: state.content)
          let isNew = progress.withLock { progress in
            progress.seen.insert(digest)
            return progress.problems.count < mostProblems
              && progress.checked.insert(Check(digest: digest, confirmed: point.confirmed)).inserted
          }
          guard isNew,
            let problem = check.problem(
              with: state.content, confirmed: point.confirmed,
              isThorough: digest.low % Self.thoroughShare == 0)
          else { return }
          progress.withLock {
            $0.problems.append("step \(position), \(point.step): \(problem) [\(state.summary)]")
          }
        }
      }
    }
    let result = progress.value
    return Outcome(stateCount: result.seen.count, problems: result.problems)
  }

  /// Before the first step, and after each.
  private var points: [Point] {
    var disk = RecordedDisk(life.initial)
    var points = [Point(disk: disk, step: "none", confirmed: 0)]
    var confirmed = 0
    for step in life.steps {
      disk.perform(step)
      if case .confirmed(let operation) = step { confirmed = operation }
      points.append(Point(disk: disk, step: step.summary, confirmed: confirmed))
    }
    return points
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

extension RecordedStep {
  /// The step without its bytes.
  var summary: String {
    if case .write(let file, let offset, let bytes) = self {
      return "write of \(bytes.count) bytes at \(offset) of file \(file)"
    }
    return "\(self)"
  }
}
