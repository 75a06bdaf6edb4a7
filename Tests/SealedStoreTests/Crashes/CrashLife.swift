import SealedStore
import SessionToolsBase
import StoreTestSupport

/// A recorded life of a store: the steps, and what it held when each operation had returned.
struct CrashLife: Sendable {
  /// What a store holds between two operations.
  struct Moment: Hashable, Sendable {
    /// `nil` when journal or mark are damaged.
    let items: [String: String]?
    /// The names of the keys that open it; none when there is no store.
    let keys: Set<String>
  }

  static let path = "/store"

  let initial: RecordedDisk.Content
  let steps: [RecordedStep]
  /// One more than there are operations: what was before comes first.
  let moments: [Moment]
  let keys: [String: RawKey]
  /// What each operation comes to when nothing gets in its way; what was before comes first.
  let states: [[String: String]?]
  /// What other processes read.
  let reads: [[String: String]]
  /// Why other processes could not read.
  let refusals: Set<StoreError.Code>
  /// What exactly has to be found; `nil` where the life began with what a crash left, and one
  /// answer is allowed anyway.
  let judge: CrashJudge?

  /// Does what a scenario says, and records it.
  ///
  /// - Parameters:
  ///   - scenario: What to do.
  ///   - isWatched: Whether other processes read the store after each step, and settle what a process
  ///     left that died; the next writer does that otherwise.
  /// - Throws: What the scenario throws.
  init(of scenario: CrashScenario, isWatched: Bool) throws {
    let disk = MemoryFileSystem()
    let before = try CrashWorld(Self.path, in: disk, seed: 1)
    for operation in scenario.preparation { try operation(before) }
    before.close()
    try self.init(
      scenario.operations, in: CrashWorld(Self.path, in: disk, content: before.content(), seed: 2),
      isWatched: isWatched, isJudged: true)
  }

  /// A store that is found after a crash, opened, and written to.
  ///
  /// - Parameters:
  ///   - content: What is found.
  ///   - key: The name of a key that opens it.
  /// - Throws: What the store throws.
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

  /// What an operation comes to when nothing gets in its way, tried with a copy of the store.
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

  /// The same life on a disk that ignores some syncs.
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
    /// What was done last.
    let step: String
    /// The moments that may be found, by their numbers: none before what was confirmed or read, none
    /// behind what had begun.
    let allowed: ClosedRange<Int>
  }

  /// Before the first step, and after each.
  ///
  /// - Throws: When somebody read what the store never held.
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

  /// Somebody read what the store never held, or held before what was read or confirmed.
  private struct WrongRead: Error {
    let items: [String: String]
    let allowed: ClosedRange<Int>
  }

  /// Whether some key opens the store at one time and not at another.
  var changesKeys: Bool { Set(moments.map(\.keys)).count > 1 }

  /// The journal that a repair has to keep.
  var damagedJournal: [UInt8]? {
    moments[0].items == nil && !moments[0].keys.isEmpty ? initial["journal"] : nil
  }

  /// What may be found, and after a repair where the store is damaged.
  ///
  /// What an operation left for the next process may be less or more than what the disk has of it,
  /// as long as nothing is confirmed or read of it. A store that is not there yet is as empty as a
  /// new one: who reads nothing loses nothing.
  func items(in allowed: ClosedRange<Int>) -> Set<[String: String]> {
    let left = allowed.compactMap { number in moments[number...].lazy.compactMap(\.items).first }
    return Set(left + allowed.dropFirst().compactMap { states[$0] })
  }

  /// What a store holds now, as the next process would find it.
  ///
  /// Looks at a copy, because opening a store may settle what is behind its mark.
  static func moment(of world: CrashWorld) throws -> Moment {
    let content = try world.content()
    var keys: Set<String> = []
    var items: [String: String]?
    for (name, key) in world.keys {
      let environment = StoreEnvironment(fileSystem: try MemoryFileSystem(path, content))
      // A key that does not open the store, or no store yet.
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
  /// The step without its bytes.
  var summary: String {
    if case .write(let file, let offset, let bytes) = self {
      return "write of \(bytes.count) bytes at \(offset) of file \(file)"
    }
    return "\(self)"
  }
}
