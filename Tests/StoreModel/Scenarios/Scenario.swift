/// What processes do to a store, what may go wrong meanwhile, and how much of that is tried.
package struct Scenario: Sendable, CustomStringConvertible {
  /// What the search has to find.
  package enum Expectation: Hashable, Sendable {
    /// Every promise is kept.
    case holds
    /// Some promise is broken, with these words in the description.
    case breaks(String)
  }

  /// How much is tried.
  package enum Bounds: Hashable, Sendable {
    /// All there is; more states than this are a mistake in the scenario.
    case all(limit: Int)
    /// As many states, the deepest first.
    case some(limit: Int)
    /// As many runs by chance.
    case random(runs: Int, seed: UInt64)
  }

  /// What one process does, one after another.
  package struct Script: Sendable {
    var name: String
    var operations: [Operation]
    var access = Access.readWrite
    /// Which slot of the header its key opens.
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
  /// The processes of each life; a power cut is between two of them.
  package var lives: [[Script]]
  package var faults = Faults()
  package var rules = Rules()
  package var nameOrder = NameOrder.asMade
  /// How often a process may have to pause in the midst of an operation; `nil` without bound.
  package var pauses: Int?
  /// How many changes the store holds, all of them synced and marked.
  var initialChangeCount = 0
  /// The number of parts of each record of a change.
  var shape = [2]
  /// Whether pieces of old files are put together at the end of every run.
  var hasSplices = false
  package var bounds = Bounds.all(limit: 20_000_000)
  package var expectation = Expectation.holds

  init(_ description: String, _ lives: [[Script]]) {
    self.description = description
    self.lives = lives
  }

  /// The same with every rule kept.
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

/// How a process may use the store's directory.
enum Access: Hashable, Sendable {
  case readWrite
  /// A mount that only reads, while others may write through another one.
  case readOnly
}

/// What one process, a person or an attacker does.
enum Operation: Hashable, Sendable {
  case read, put, compact, rotate, revoke, repair
  /// Closes the store, so that the next operation opens it.
  case close
  /// Attacker: keeps a copy of the files.
  case keepCopy
  /// Attacker or user: puts the copy back, into the files or in their place.
  case putBack(inPlace: Bool)
  /// Attacker: makes zeros of any part of the last change, or of any other one.
  case tear(last: Bool)
  /// Attacker: writes any change again where it stood.
  case putChangeBack
  /// Accident: a record becomes noise.
  case damageRecord
  /// Accident: the mark becomes noise, or its file is removed.
  case damageMark
}

/// How often what may go wrong.
package struct Faults: Hashable, Sendable {
  /// `kill -9` of a process in the midst of an operation.
  var kill = 0
  /// A sync of the journal that fails.
  var journalSync = 0
  /// A sync of `journal.next` that fails.
  var nextSync = 0
  /// A sync of the mark that fails.
  var markSync = 0
  /// A write of the mark that fails.
  var markWrite = 0
  /// A rename that fails.
  var rename = 0
  /// A full disk in the midst of a change.
  var noSpace = 0
  /// Clean pages that are read again from the disk.
  var eviction = 0
  /// A mark that the kernel fails to write back.
  var lostMark = 0
  /// Whether a mark that is lost is always back at what was synced last.
  var losesWholeMark = false
  /// Whether a sync of the journal that fails makes the file system read-only.
  var remountsReadOnly = false
  /// Whether the machine may stop only when no process is at work.
  var cutsOnlyAtRest = false

  package init() {}
}
