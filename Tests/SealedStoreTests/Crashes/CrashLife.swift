import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport

/// A recorded life of a store: the steps, and its contents after each operation.
struct CrashLife: Sendable {
  /// The contents of a store between two operations.
  struct Moment: Hashable, Sendable {
    /// The items; `nil` if the journal or the mark is damaged.
    let items: [String: String]?
    /// The names of the keys that open the store; empty if there is no store.
    let keys: Set<String>
  }

  static let path = "/store"

  let initial: RecordedDisk.Content
  let steps: [RecordedStep]
  /// The initial moment and the moment after each operation.
  let moments: [Moment]
  let keys: [String: RawKey]
  /// The initial items, and the items after each operation if nothing interferes with it.
  let states: [[String: String]?]
  /// The items that other processes read.
  let reads: [[String: String]]
  /// The errors of other processes that could not read.
  let refusals: Set<StoreError.Code>
  /// The judge of the exact result.
  ///
  /// It is `nil` if the life began with the remains of a crash, where only one result is allowed.
  let judge: CrashJudge?

  /// Runs a scenario and records it.
  ///
  /// - Parameters:
  ///   - scenario: The scenario.
  ///   - isWatched: Whether other processes read the store after each step, and recover the remains
  ///     of a process that died; otherwise the next writer does that.
  /// - Throws: Any error that the scenario throws.
  init(of scenario: CrashScenario, isWatched: Bool) throws {
    let disk = MemoryFileSystem()
    let before = try CrashWorld(Self.path, in: disk, seed: 1)
    for operation in scenario.preparation { try operation(before) }
    before.close()
    try self.init(
      scenario.operations, in: CrashWorld(Self.path, in: disk, content: before.content(), seed: 2),
      isWatched: isWatched, isJudged: true)
  }

  /// Records a store that is opened and written to after a crash.
  ///
  /// - Parameters:
  ///   - content: The files after the crash.
  ///   - key: The name of a key that opens the store.
  /// - Throws: Any error that the store throws.
  init(goingOnWith content: RecordedDisk.Content, by key: String) throws {
    let disk = try MemoryFileSystem(Self.path, content)
    let world = try CrashWorld(Self.path, in: disk, content: content, seed: 3)
    try self.init(
      [
        { world in
          try world.reopen(key)
          if try CrashLife.moment(of: world).items == nil { _ = try world.store().repair() }
        },
        { try $0.store().put("again", as: "again") },
      ], in: world, isWatched: true, isJudged: false)
  }

  private init(
    _ operations: [CrashScenario.Operation], in world: CrashWorld, isWatched: Bool, isJudged: Bool
  ) throws {
    let initial = try world.content()
    var moments = [try Self.moment(of: world)]
    var states = [moments[0].keys.isEmpty ? [:] : moments[0].items]
    for (position, operation) in operations.enumerated() {
      states.append(try Self.state(after: operation, in: world, number: position + 1))
      try world.perform(operation, number: position + 1, watched: isWatched)
      moments.append(try Self.moment(of: world))
    }
    self.initial = initial
    self.moments = moments
    self.states = states
    steps = world.recorder.steps
    keys = world.keys
    reads = world.readers.reads
    refusals = world.readers.refusals
    judge = isJudged ? CrashJudge(initial, steps, states: states) : nil
  }

  /// Returns the items after an operation without interference, run on a copy of the store.
  private static func state(
    after operation: CrashScenario.Operation, in world: CrashWorld, number: Int
  ) throws -> [String: String]? {
    let content = try world.content()
    let disk = content.isEmpty ? MemoryFileSystem() : try MemoryFileSystem(path, content)
    let copy = try CrashWorld(path, in: disk, content: content, seed: 1000 + UInt64(number))
    copy.isUndisturbed = true
    try operation(copy)
    return try moment(of: copy).items
  }

  /// Makes the same life for a disk that ignores some syncs.
  init(_ life: CrashLife, ignoring isIgnored: (Int, RecordedStep) -> Bool) {
    initial = life.initial
    moments = life.moments
    states = life.states
    keys = life.keys
    reads = life.reads
    refusals = life.refusals
    judge = nil
    steps = life.steps.enumerated().filter { !isIgnored($0, $1) }.map(\.element)
  }

  /// A point at which the machine may stop.
  struct Point: Sendable {
    let disk: RecordedDisk
    /// The last step.
    let step: String
    /// The numbers of the moments that may be found.
    ///
    /// They begin with the last moment that was confirmed or read, and end with the last operation
    /// that had begun.
    let allowed: ClosedRange<Int>
  }

  /// Returns the points before the first step and after each step.
  ///
  /// - Throws: An error if a process read items that the store never held.
  func points() throws -> [Point] {
    var disk = RecordedDisk(initial)
    var (first, last) = (0, 0)
    var points = [Point(disk: disk, step: "none", allowed: 0...0)]
    for step in steps {
      disk.perform(step)
      switch step {
      case .begun(let operation): last = operation
      case .confirmed(let operation): first = max(first, operation)
      case .read(let number):
        let seen = (first...last).first { items(in: $0...$0).contains(reads[number]) }
        guard let seen else { throw WrongRead(items: reads[number], allowed: first...last) }
        first = seen
      default: break
      }
      points.append(Point(disk: disk, step: step.summary, allowed: first...last))
    }
    return points
  }

  /// A process read items that the store never held, or that had been superseded by then.
  private struct WrongRead: Error {
    let items: [String: String]
    let allowed: ClosedRange<Int>
  }

  /// Whether any key opens the store only at some of the moments.
  var changesKeys: Bool { Set(moments.map(\.keys)).count > 1 }

  /// The journal that a repair must keep.
  var damagedJournal: [UInt8]? {
    moments[0].items == nil && !moments[0].keys.isEmpty ? initial["journal"] : nil
  }

  /// Returns the sets of items that may be found, if necessary after a repair.
  ///
  /// The remains of an operation may be less or more than the disk has of it, as long as no part of
  /// it was confirmed or read. A store that does not exist yet is as empty as a new store.
  func items(in allowed: ClosedRange<Int>) -> Set<[String: String]> {
    let left = allowed.compactMap { number in moments[number...].lazy.compactMap(\.items).first }
    return Set(left + allowed.dropFirst().compactMap { states[$0] })
  }

  /// Returns the current contents of a store, as the next process would find them.
  ///
  /// Reads a copy, because opening a store may recover the changes behind its mark.
  static func moment(of world: CrashWorld) throws -> Moment {
    let content = try world.content()
    var keys: Set<String> = []
    var items: [String: String]?
    for (name, key) in world.keys {
      let environment = StoreEnvironment(fileSystem: try MemoryFileSystem(path, content))
      // A failure means that the key does not open the store, or that there is no store yet.
      guard
        let store = try? SealedFileStore.open(
          at: path, key: key, options: .init(), environment: environment)
      else { continue }
      keys.insert(name)
      items = try store.verify().isSound ? store.texts() : nil
    }
    return Moment(items: items, keys: keys)
  }
}

extension RecordedStep {
  /// A description of the step without its bytes.
  var summary: String {
    if case .write(let file, let offset, let bytes) = self {
      return "write of \(bytes.count) bytes at \(offset) of file \(file)"
    }
    return "\(self)"
  }
}
