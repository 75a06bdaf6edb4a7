import SealedStore
import SessionToolsStoreTestSupport
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Tests of the crash replay itself, which must find a problem on a disk that ignores one sync.
@Suite(.onOwnThread, .serialized) struct IgnoredSyncTests {
  private static let limits = CrashLimits(complete: 16, chosen: 8)
  /// The largest number of lives in which a sort of sync is omitted without a problem.
  private static let mostTries = TestSize.choose(small: 40, medium: 40, large: 1000)
  /// The same number for the syncs that are known to be needless.
  private static let mostNeedlessTries = TestSize.choose(small: 1, medium: 1, large: 1000)

  /// The syncs that can be omitted, because something else ensures the same.
  private static let needless: Set = [
    // The last step of a rotation: if the name returns, the next writer removes it.
    "directory after removing header.next",
    // Until the new journal has its name, a store without its mark stays damaged and is repaired
    // again.
    "directory after renaming replacement to mark",
    // Recovery makes the journal's name durable, as the process that wrote behind its mark did.
    "directory after writing journal", "directory after writing journal again",
    "directory after writing journal where it was cut",
    // The last byte of the part that is cut off was never written, and the chain distinguishes its
    // remains from the change that takes its place.
    "journal after cutting journal",
  ]

  /// Omits one sync of each sort, in one life after another until a problem is found.
  @Test func `a crash loses something wherever a sync is ignored, except for a few known syncs`()
    throws
  {
    var detected: Set<String> = []
    var tries: [String: Int] = [:]
    // An omitted sync has an effect more often in disturbed scenarios.
    for scenario in CrashScenario.all.reversed() {
      for isWatched in scenario.isDisturbed ? [false, true] : [true] {
        let life = try CrashLife(of: scenario, isWatched: isWatched)
        for (position, sort) in Self.sorts(in: life).sorted(by: { $0.key < $1.key })
        where !detected.contains(sort) && tries[sort, default: 0] < Self.mostTries(of: sort) {
          tries[sort, default: 0] += 1
          let broken = CrashLife(life) { place, _ in place == position }
          var replay = CrashReplay(life: broken, limits: Self.limits, mostProblems: 1)
          replay.firstPoint = position
          if try replay.run().problems != [] { detected.insert(sort) }
        }
      }
    }
    #expect(Set(tries.keys).subtracting(detected) == Self.needless)
    #expect(detected.count == 19, "\(detected.sorted())")
  }

  private static func mostTries(of sort: String) -> Int {
    needless.contains(sort) ? mostNeedlessTries : mostTries
  }

  /// Returns the sorts of the syncs in a life, by the numbers of their steps.
  ///
  /// A sort is the synced file and the last step on any file before it in the same operation.
  private static func sorts(in life: CrashLife) -> [Int: String] {
    var sorts: [Int: String] = [:]
    var names: [Int: String] = [:]
    for (position, name) in life.initial.keys.sorted().enumerated() { names[position + 1] = name }
    let name = { (file: Int) in
      let name = names[file] ?? ""
      return name.hasPrefix("damaged-") ? "damaged" : name
    }
    var written: Set<[UInt8]> = []
    var last = "the beginning"
    for (position, step) in life.steps.enumerated() {
      switch step {
      case .begun: last = "the beginning"
      case .makeDirectory: last = "making the directory"
      case .create(let new, let file): names[file] = new
      case .write(let file, _, let bytes):
        let isNew = written.insert(bytes).inserted
        let isInPlace = last == "cutting journal" && name(file) == "journal"
        last =
          "writing \(name(file))" + (isNew ? "" : " again") + (isInPlace ? " where it was cut" : "")
      case .truncate(let file, _): last = "cutting \(name(file))"
      case .dropUnsynced: last = "a sync that failed"
      case .rename(let old, let new):
        if let file = names.first(where: { $0.value == old })?.key { names[file] = new }
        last = "renaming \(old) to \(new)"
      case .remove(let old): last = "removing \(old)"
      case .synchronize(let file, _): sorts[position] = "\(name(file)) after \(last)"
      case .synchronizeDirectory: sorts[position] = "directory after \(last)"
      case .synchronizeParent: sorts[position] = "parent after \(last)"
      case .link, .confirmed, .read, .moment: continue
      }
    }
    return sorts
  }
}
