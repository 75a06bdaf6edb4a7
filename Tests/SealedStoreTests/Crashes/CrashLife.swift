import SealedStore
import SessionToolsBase
import StoreTestSupport
import Testing

/// A recorded life of a store: the steps, and what it held when each operation had returned.
struct CrashLife: Sendable {
  /// What a store holds between two operations.
  struct Moment: Hashable, Sendable {
    /// `nil` when the journal is damaged.
    let items: [String: String]?
    /// The names of the keys that open it; none when there is no store.
    let keys: Set<String>
  }

  let initial: RecordedDisk.Content
  let steps: [RecordedStep]
  /// One more than there are operations: what was before comes first.
  let moments: [Moment]
  let keys: [String: RawKey]

  /// Does what a scenario says in a directory of its own, and records it.
  init(of scenario: CrashScenario, at path: String) throws {
    let before = try CrashWorld(path, seed: 1)
    for operation in scenario.preparation { try operation(before) }
    let initial =
      scenario.preparation.isEmpty ? [:] : try RecordedDisk.read(path, withReserve: true)
    let world = try CrashWorld(path, content: initial, seed: 2)
    var moments = [try Self.moment(of: world)]
    for (number, operation) in scenario.operations.enumerated() {
      try operation(world)
      // A process that died has confirmed nothing.
      if world.current != nil { world.recorder.confirm(number + 1) }
      moments.append(try Self.moment(of: world))
    }
    self.initial = initial
    self.moments = moments
    steps = world.recorder.steps
    keys = world.keys
  }

  /// The same life on a disk that ignores some syncs.
  init(_ life: CrashLife, ignoring isIgnored: (RecordedStep) -> Bool) {
    initial = life.initial
    moments = life.moments
    keys = life.keys
    steps = life.steps.filter { !isIgnored($0) }
  }

  /// What may be found when so many operations had returned: the one under way has happened as
  /// a whole, or not at all; so have those whose process died.
  func allowed(_ confirmed: Int) -> [Moment] {
    let next = steps.lazy.compactMap { step in
      if case .confirmed(let number) = step, number > confirmed { number } else { nil }
    }.first
    return Array(moments[confirmed...(next ?? moments.count - 1)])
  }

  /// Whether some key opens the store at one time and not at another.
  var changesKeys: Bool { Set(moments.map(\.keys)).count > 1 }

  /// The journal that a repair has to keep.
  var damagedJournal: [UInt8]? {
    moments[0].items == nil && !moments[0].keys.isEmpty ? initial["journal"] : nil
  }

  /// What a repair finds.
  var repaired: [String: String]? { moments.lazy.compactMap(\.items).first }

  /// What a store holds now, as the kernel's file system has it.
  static func moment(of world: CrashWorld) throws -> Moment {
    var keys: Set<String> = []
    var items: [String: String]?
    for (name, key) in world.keys {
      // A key that does not open the store, or no store yet.
      guard let store = try? SealedFileStore.open(at: world.path, key: key) else { continue }
      keys.insert(name)
      // A damaged store gives no list.
      items = try? store.texts()
    }
    return Moment(items: items, keys: keys)
  }
}
