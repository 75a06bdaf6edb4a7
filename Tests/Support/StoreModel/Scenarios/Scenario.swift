/// The operations of processes on a store, the possible faults, and the bounds of the search.
package struct Scenario: Sendable, CustomStringConvertible {
  /// The required result of the search.
  package enum Expectation: Hashable, Sendable {
    /// Every promise is kept.
    case holds
    /// A promise is broken, with these words in the description.
    case breaks(String)
  }

  /// The bounds of the search.
  package enum Bounds: Hashable, Sendable {
    /// All states; more states than the limit are a mistake in the scenario.
    case all(limit: Int)
    /// The given number of states, the deepest first.
    case some(limit: Int)
    /// The given number of random runs.
    case random(runs: Int, seed: UInt64)
  }

  /// The operations of one process, in order.
  package struct Script: Sendable {
    var name: String
    var operations: [Operation]
    var access = Access.readWrite
    /// The slot of the header that its key opens.
    var slot = 0

    init(
      _ name: String, _ operations: [Operation], access: Access = .readWrite, slot: Int = 0
    ) {
      self.name = name
      self.operations = operations
      self.access = access
      self.slot = slot
    }
  }

  package let description: String
  /// The processes of each life; a power cut is between two lives.
  package var lives: [[Script]]
  package var faults = Faults()
  package var rules = Rules()
  package var nameOrder = NameOrder.asMade
  /// How often a process may be paused in the middle of an operation; `nil` for any number.
  package var pauses: Int?
  /// The number of changes in the store at the beginning, all of them synced and marked.
  var initialChangeCount = 0
  /// The number of parts of each record of a change.
  var shape = [2]
  /// Whether stores are assembled from pieces of old files at the end of every run.
  var hasSplices = false
  package var bounds = Bounds.all(limit: 20_000_000)
  package var expectation = Expectation.holds

  init(_ description: String, _ lives: [[Script]]) {
    self.description = description
    self.lives = lives
  }

  /// The same scenario with all rules.
  package var withAllRules: Scenario {
    var scenario = self
    scenario.rules = Rules()
    return scenario
  }

  /// Whether the key of the store may change.
  var changesKeys: Bool {
    lives.joined().contains {
      $0.operations.contains(.rotate) || $0.operations.contains(.revoke)
    }
  }
}

/// The access of a process to the store's directory.
enum Access: Hashable, Sendable {
  case readWrite
  /// Access through a read-only mount, while others may write through another mount.
  case readOnly
}

/// An operation of a process, a user or an attacker.
enum Operation: Hashable, Sendable {
  case read, put, compact, rotate, revoke, repair
  /// Closes the store, so that the next operation opens it.
  case close
  /// Attacker: keeps a copy of the files.
  case keepCopy
  /// Attacker or user: restores the copy, by overwriting the files or by replacing them.
  case putBack(inPlace: Bool)
  /// Attacker: zeros any part of the last change, or of any other change.
  case tear(last: Bool)
  /// Attacker: writes any change again at its place.
  case putChangeBack
  /// Accident: a record becomes noise.
  case damageRecord
  /// Accident: the mark becomes noise, or its file is removed.
  case damageMark
}

/// The largest number of each kind of fault.
package struct Faults: Hashable, Sendable {
  /// `kill -9` of a process in the middle of an operation.
  var kill = 0
  /// Failed syncs of the journal.
  var journalSync = 0
  /// Failed syncs of `journal.next`.
  var nextSync = 0
  /// Failed syncs of the mark.
  var markSync = 0
  /// Failed writes of the mark.
  var markWrite = 0
  /// Failed renames.
  var rename = 0
  /// Full disks in the middle of a change.
  var noSpace = 0
  /// Evictions of clean pages, which are then read again from the disk.
  var eviction = 0
  /// Marks that the kernel fails to write back.
  var lostMark = 0
  /// Whether a lost mark always returns to the last synced content.
  var losesWholeMark = false
  /// Whether a failed sync of the journal makes the file system read-only.
  var remountsReadOnly = false
  /// Whether the machine may stop only while no process is in an operation.
  var cutsOnlyAtRest = false

  package init() {}
}

/// The size of a search.
package enum ModelSize: Sendable {
  /// A part of every scenario, where all of it takes ten times as long.
  case small
  /// The size for every run.
  case medium
  /// A size that takes minutes.
  case large

  func choose<Value>(_ usual: Value, large: Value) -> Value {
    switch self {
    case .small, .medium: usual
    case .large: large
    }
  }
}

extension Scenario {
  /// The largest number of states at the small size.
  private static let smallLimit = 2000

  /// Returns the scenario within the bounds of a size.
  func bounded(_ size: ModelSize) -> Scenario {
    guard case .small = size else { return self }
    var scenario = self
    switch bounds {
    case .all(let limit), .some(let limit):
      scenario.bounds = .some(limit: min(limit, Self.smallLimit))
    case .random(let runs, let seed):
      scenario.bounds = .random(runs: max(1, runs / 10), seed: seed)
    }
    return scenario
  }
}
