import SealedStore
import StoreTestSupport
import TestThreads
import Testing

/// The control of the crash replay: on a disk that ignores one sort of sync it has to find
/// something wrong.
@Suite(.onOwnThread) struct IgnoredSyncTests {
  /// A sort of sync, and what is done on a disk that ignores it.
  struct Ignored: Sendable, CustomTestStringConvertible {
    let scenario: String
    /// The file; `nil` for the directory.
    let name: String?

    var testDescription: String { "\(scenario), \(name ?? "directory")" }

    func isIgnored(_ step: RecordedStep) -> Bool {
      switch step {
      case .synchronize(_, let name): name == self.name
      case .synchronizeDirectory: name == nil
      default: false
      }
    }
  }

  static let ignored =
    ["put", "remove", "change of 40 records", "compaction", "tail cut off", "full disk"].map {
      Ignored(scenario: $0, name: "journal")
    }
    + ["compaction", "rotation", "revocation", "repair"].map {
      Ignored(scenario: $0, name: "journal.next")
    }
    + ["rotation", "revocation"].map {
      Ignored(scenario: $0, name: "header.next")
    }
    + [Ignored(scenario: "compaction", name: "mark")]
    + ["creation", "slot added", "slots changed and removed", "rotation"].map {
      Ignored(scenario: $0, name: "replacement")
    }
    + ["creation", "compaction", "slot added", "rotation", "revocation", "repair"].map {
      Ignored(scenario: $0, name: nil)
    }

  @Test(arguments: ignored)
  func `a crash loses something where a sync is ignored`(ignored: Ignored) throws {
    let scratch = try Scratch()
    let life = try CrashLife(of: .named(ignored.scenario), at: scratch.path)
    let broken = CrashLife(life, ignoring: ignored.isIgnored)
    #expect(broken.steps.count < life.steps.count)
    let limits = CrashLimits(complete: 64, chosen: 10)
    let outcome = try CrashReplay(life: broken, limits: limits, mostProblems: 1).run()
    #expect(outcome.problems != [])
  }
}
