import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestSupport
import Testing

/// A history of the operations of several processes on one store, with every step on the disk.
///
/// A thread with its own store object represents each process: locks belong to open files, like
/// those of the kernel. A moment is a number of steps.
struct CrashHistory: Sendable {
  private static let path = "/store"
  private static let clientCount = 8
  private static let operationCount = 60

  private let initial: RecordedDisk.Content
  private let key: RawKey
  private(set) var steps: [RecordedStep]
  /// The operations of each group of items.
  private let operations: [[HistoryOperation]]
  /// The number of changes that were not confirmed.
  let unknownCount: Int

  /// Records processes at work; two of them also rewrite the journal, and a few syncs fail.
  init(seed: UInt64) throws {
    let key = try RawKey(SecretBytes(SeededRandom.bytes(32, seed: seed, number: 1)))
    let memory = MemoryFileSystem()
    _ = try SealedFileStore.create(
      at: Self.path, key: key, options: .init(), environment: StoreEnvironment(fileSystem: memory))
    let initial = try memory.content(of: Self.path)
    let recorder = RecordingFileSystem(Self.path, in: memory, content: initial)
    let histories = Locked<[[[HistoryOperation]]]>([])
    try inThreads(Self.clientCount) { number in
      let client = try Self.work(number, seed: seed, by: key, on: recorder)
      histories.withLock { $0.append(client) }
    }
    self.initial = initial
    self.key = key
    steps = recorder.steps
    operations = (0..<SharedItems.groupCount).map { group in histories.value.flatMap { $0[group] } }
    unknownCount = operations.joined().count { $0.responded == .max }
  }

  /// Makes the same history for a disk that ignores the syncs of a file.
  init(_ history: CrashHistory, ignoringSyncsOf name: String) {
    self = history
    steps = steps.filter { step in
      if case .synchronize(_, name) = step { return false }
      return true
    }
  }

  private static func work(
    _ number: Int, seed: UInt64, by key: RawKey, on recorder: RecordingFileSystem
  ) throws -> [[HistoryOperation]] {
    let open = {
      try SealedFileStore.open(
        at: path, key: key, options: .init(), environment: StoreEnvironment(fileSystem: recorder))
    }
    var random = SeededGenerator(seed: seed &* 100 &+ UInt64(number))
    var client = HistoryRecorder(client: number, seed: random.next(), now: recorder.now)
    var store: SealedFileStore?
    var done = 0
    while done < operationCount {
      do {
        let current = try store ?? open()
        store = current
        done += 1
        switch (number, Int.random(in: 0..<40, using: &random)) {
        case (0, 0): try current.compact()
        case (1, 0): try current.rotate()
        case (2, 0): recorder.failNextSynchronization(of: "journal")
        case (_, 1): store = nil
        default: try client.makeOperation(with: current)
        }
      } catch let error as StoreError
        where [StoreError.outcomeUnknown, StoreError.io].contains(error.code)
      {
        // A sync failed, for this client's change or while it recovered another client's.
        continue
      }
    }
    return client.operations
  }

  /// The result of a replay.
  struct Outcome: Sendable {
    var stateCount = 0
    /// Descriptions of the states that no order explains.
    var problems: [String] = []
  }

  /// Lets the power fail at some steps.
  ///
  /// Checks that one order of the operations explains everything that any process had read or
  /// received by then, and the items found afterwards.
  ///
  /// - Parameters:
  ///   - pointCount: The number of randomly chosen steps.
  ///   - limits: The limits on the states that are checked.
  ///   - seed: The seed of the random choices.
  /// - Returns: The result.
  func replay(pointCount: Int, _ limits: CrashLimits, seed: UInt64) -> Outcome {
    var random = SeededGenerator(seed: seed)
    let points = Set((0..<pointCount).map { _ in Int.random(in: 0...steps.count, using: &random) })
    var disk = RecordedDisk(initial)
    var outcome = Outcome()
    for point in 0...steps.count {
      if point > 0 { disk.perform(steps[point - 1]) }
      guard points.contains(point) else { continue }
      var seen: Set<RecordedDisk.Content> = []
      var explained: Set<[GroupState]> = []
      disk.forEachCrash(limits, seed: random.next()) { state in
        guard let content = state.content, seen.insert(content).inserted else { return }
        outcome.stateCount += 1
        do {
          let found = try found(in: content)
          guard explained.insert(found).inserted else { return }
          for (group, items) in found.enumerated() {
            let history = operations[group].compactMap { $0.cut(at: UInt64(point)) }
            let end = HistoryOperation(
              .observation, items, invoked: UInt64(point) + 1, responded: UInt64(point) + 2)
            if let violation = LinearizabilityChecker.violation(in: history + [end]) {
              outcome.problems.append("after step \(point), group \(group): \(violation)")
            }
          }
        } catch {
          outcome.problems.append("after step \(point): \(error)")
        }
      }
    }
    return outcome
  }

  private func found(in content: RecordedDisk.Content) throws -> [GroupState] {
    let store = try SealedFileStore.open(
      at: Self.path, key: key, options: .init(),
      environment: StoreEnvironment(fileSystem: MemoryFileSystem(Self.path, content)))
    return try (0..<SharedItems.groupCount).map { group in
      try #require(try SharedItems.state(ofGroup: group, in: store))
    }
  }
}

extension HistoryOperation {
  /// Returns the operation cut at a moment, or `nil` if it had not returned and changes nothing.
  ///
  /// A change that was in progress may have happened before the power failed, or never.
  fileprivate func cut(at moment: UInt64) -> HistoryOperation? {
    if invoked > moment { return nil }
    if responded <= moment { return self }
    guard kind == .change else { return nil }
    return HistoryOperation(.change, items, invoked: invoked, responded: moment + 3)
  }
}
