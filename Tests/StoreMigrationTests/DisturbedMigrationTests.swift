import SessionToolsBase
import StoreMigration
import Synchronization
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Migrations that die at any change, while another program changes an item at any time: whatever
/// the order, no value is lost, and no report says more than is true.
@Suite(.onOwnThread) struct DisturbedMigrationTests {
  /// What the other program does with the item `c`.
  enum Event: CaseIterable {
    case putIntoSource, putIntoTarget, removeFromSource, removeFromTarget
    /// Puts what is there already, as a program does that saves its settings.
    case putBackIntoSource
  }

  /// What is called after the process died, or came to its end.
  enum Step {
    case resume, resumeDeleting, undo
  }

  static let theirs = SecretBytes(utf8: "theirs")
  static let died = StoreError(.io, store: "a test", reason: "the process died")
  static let reversed: Migration.Transform = { name, value in
    (name, SecretBytes(value.copyBytes().reversed()))
  }

  private static func options(isMoving: Bool) -> MigrationOptions {
    var options = MigrationOptions()
    options.conflicts = .overwrite
    options.deletesSource = isMoving
    return options
  }

  /// A migration of three items, and what happened to the third.
  private final class Stage: Sendable {
    let world: World
    let before: [Contents]
    private let itemName: ItemName
    private let made: SecretBytes
    private let isAtomic: Bool
    private let isTransformed: Bool
    private let event: (kind: Event, count: Int)
    private let state = Mutex(State())

    private struct State {
      var journalCount = 0
      var hasHappened = false
      var isCalm = false
      var left = 0
      /// What the target had when the migration wrote the item.
      var overwritten: SecretBytes?
      /// Whether the migration changed the item there, and did not restore it since.
      var hasWritten = false
      var hasRemoved = false
      /// Whether the other program took the only copy of the value.
      var wasLost = false
    }

    init(_ event: (Event, Int), isAtomic: Bool, isTransformed: Bool) throws {
      world = World(
        source: try items(["a": "new a", "b": "same", "c": "new c"]),
        target: try items(["a": "old a", "b": isTransformed ? "emas" : "same", "c": "old c"]))
      before = world.contents
      itemName = try StoreMigrationTests.name("c")
      made = SecretBytes(utf8: isTransformed ? "c wen" : "new c")
      (self.isAtomic, self.isTransformed) = (isAtomic, isTransformed)
      self.event = event
    }

    /// A migration in a process that dies after some changes.
    func migration(isMoving: Bool = false, changeCount: Int = .max) -> Migration {
      state.withLock { $0.left = changeCount }
      return Migration(
        from: HookedStore(
          world.source, isAtomic: isAtomic, beforeChange: { self.step($0, isInSource: true) }),
        to: HookedStore(
          world.target, isAtomic: isAtomic, beforeChange: { self.step($0, isInSource: false) }),
        journal: HookedStore(
          world.journal,
          beforeChange: { _ in
            self.disturb()
            return self.step([], isInSource: false)
          }), options: DisturbedMigrationTests.options(isMoving: isMoving),
        transform: isTransformed ? DisturbedMigrationTests.reversed : nil)
    }

    private func step(_ changes: [StoreChange], isInSource: Bool) -> StoreError? {
      state.withLock { state in
        guard state.left > 0 else { return DisturbedMigrationTests.died }
        state.left -= 1
        guard !changes.isEmpty else { return nil }
        for change in changes where change.name == itemName {
          if isInSource {
            if case .remove = change { state.hasRemoved = true } else { state.hasRemoved = false }
          } else if case .put(made, _) = change {
            if !state.hasWritten { state.overwritten = world.target.value(for: itemName) }
            state.hasWritten = true
          } else {
            state.hasWritten = false
          }
        }
        return nil
      }
    }

    /// Ends the time in which the other program does anything.
    func calm() { state.withLock { $0.isCalm = true } }

    /// Before the journal is changed the items are not looked at for the last time yet.
    private func disturb() {
      let isNow = state.withLock { state in
        state.journalCount += 1
        guard state.journalCount == event.count, !state.isCalm else { return false }
        state.hasHappened = true
        return true
      }
      guard isNow else { return }
      let (inSource, inTarget) = (
        world.source.value(for: itemName), world.target.value(for: itemName)
      )
      let isOnly = (inSource == original) != (inTarget == made)
      switch event.kind {
      case .putIntoSource: world.source.apply([.put(theirs, for: itemName)])
      case .putIntoTarget: world.target.apply([.put(theirs, for: itemName)])
      case .removeFromSource: world.source.apply([.remove(itemName)])
      case .removeFromTarget: world.target.apply([.remove(itemName)])
      case .putBackIntoSource: world.source.apply([.put(original, for: itemName)])
      }
      let isGone = !isThere
      state.withLock { $0.wasLost = $0.wasLost || isOnly && isGone }
    }

    private var theirs: SecretBytes { DisturbedMigrationTests.theirs }
    private var original: SecretBytes { before[0][itemName] ?? theirs }
    private var isThere: Bool {
      world.source.value(for: itemName) == original || world.target.value(for: itemName) == made
    }

    /// Expects that no value is lost, and that those of the other program are where it put them.
    func expectNothingLost(_ comment: Comment) {
      let (wasLost, hasHappened) = state.withLock { ($0.wasLost, $0.hasHappened) }
      #expect(isThere || wasLost, "the item is in neither store: \(comment)")
      for (name, value) in before[0] where name != itemName {
        let made = isTransformed ? SecretBytes(value.copyBytes().reversed()) : value
        #expect(
          world.source.value(for: name) == value || world.target.value(for: name) == made, comment)
      }
      guard hasHappened else { return }
      switch event.kind {
      case .putIntoSource: #expect(world.source.value(for: itemName) == theirs, comment)
      case .putIntoTarget: #expect(world.target.value(for: itemName) == theirs, comment)
      case .removeFromSource, .removeFromTarget, .putBackIntoSource: break
      }
    }

    /// Expects that a report of a migration that nothing disturbed since is true.
    func expectTrue(_ report: MigrationReport, isMoving: Bool, _ comment: Comment) throws {
      for entry in try report.entries {
        guard let value = before[0][entry.source] else { continue }
        let made = isTransformed ? SecretBytes(value.copyBytes().reversed()) : value
        let isInTarget = world.target.value(for: entry.target) == made
        let isInSource = world.source.value(for: entry.source) == value
        switch entry.outcome {
        case .migrated:
          #expect(isInTarget && isInSource && !isMoving, "\(entry.source): \(comment)")
        case .moved:
          let isEmpty = world.source.value(for: entry.source) == nil
          #expect(isInTarget && isEmpty && isMoving, "\(entry.source): \(comment)")
        case .failed:
          #expect(entry.source == itemName, "\(entry.source): \(comment)")
        case .skipped, .left: Issue.record("\(entry.outcome.name): \(comment)")
        }
      }
    }

    /// Expects that a report of undoing that nothing disturbed since is true.
    func expectTrue(_ report: Migration.UndoReport, _ comment: Comment) throws {
      #expect(try report.left.allSatisfy { $0 == itemName }, comment)
      for (name, _) in before[0] where name != itemName {
        #expect(world.source.value(for: name) == before[0][name], "\(name): \(comment)")
        #expect(world.target.value(for: name) == before[1][name], "\(name): \(comment)")
      }
      guard report.isComplete else { return }
      let state = state.withLock { $0 }
      if state.hasWritten {
        #expect(world.target.value(for: itemName) == state.overwritten, "target: \(comment)")
      }
      if state.hasRemoved {
        #expect(world.source.value(for: itemName) == original, "source: \(comment)")
      }
    }
  }

  /// Runs a migration that dies, and what comes after it, in which the same may happen once more.
  private func attack(
    _ event: Event, at eventCount: Int, diesAfter changeCount: Int, isMoving: Bool, isAtomic: Bool,
    isTransformed: Bool, then steps: [(Step, diesAfter: Int)]
  ) throws {
    let stage = try Stage(
      (event, eventCount), isAtomic: isAtomic, isTransformed: isTransformed)
    let kind = "moving \(isMoving), atomic \(isAtomic), transformed \(isTransformed)"
    let comment: Comment =
      "\(event) at \(eventCount), died after \(changeCount), \(kind), then \(steps)"
    _ = try? stage.migration(isMoving: isMoving, changeCount: changeCount).run()
    stage.expectNothingLost(comment)
    for (step, changeCount) in steps {
      switch step {
      case .resume: _ = try? stage.migration(changeCount: changeCount).resume()
      case .resumeDeleting:
        _ = try? stage.migration(isMoving: true, changeCount: changeCount).resume()
      case .undo: _ = try? stage.migration(changeCount: changeCount).undo()
      }
      stage.expectNothingLost(comment)
    }
    stage.calm()
    switch try stage.migration().state() {
    case nil: return
    case .unfinished, .finished:
      let isDeleting = try OpenMigration(inJournal: stage.world.journal)?.deletesSource ?? false
      try stage.expectTrue(stage.migration().resume(), isMoving: isDeleting, comment)
      stage.expectNothingLost(comment)
    case .undoing, .undone: break
    }
    try stage.expectTrue(stage.migration().undo(), comment)
    stage.expectNothingLost(comment)
    // Again, with nothing left to do.
    try stage.expectTrue(stage.migration().undo(), comment)
  }

  private static let stepSize = TestSize.choose(small: 31, medium: 11, large: 1)

  @Test(arguments: [true, false], [true, false])
  func `a value is never lost, and a report is true`(_ isMoving: Bool, _ isAtomic: Bool) throws {
    let continuations: [[(Step, diesAfter: Int)]] = [
      [], [(.resume, .max)], [(.resume, 2), (.undo, 2)], [(.undo, 3)], [(.resumeDeleting, 4)],
      [(.resumeDeleting, .max), (.undo, 1)],
    ]
    var number = 0
    for event in Event.allCases {
      for (eventCount, changeCount) in (1...16).flatMap({ count in
        (Array(1...14) + [.max]).map { (count, $0) }
      }) {
        for isTransformed in [false, true] {
          for steps in continuations {
            number += 1
            guard number.isMultiple(of: Self.stepSize) else { continue }
            try attack(
              event, at: eventCount, diesAfter: changeCount, isMoving: isMoving,
              isAtomic: isAtomic, isTransformed: isTransformed, then: steps)
          }
        }
      }
    }
  }
}
