/// The state of everything at one moment: the disk, the processes, and the promises.
struct World: Sendable {
  /// The position of a change in a journal, and its meaning.
  struct Layout: Hashable, Sendable {
    struct Record: Hashable, Sendable {
      var partCount: Int
      /// The item that it puts; `nil` in a void change.
      var payload: Int?
    }

    /// The cell at which the change begins.
    var offset: Int
    var records: [Record]
    /// The version of the store after the change.
    var version: Int
    /// The number of its parts that were ever written; no disk and no attacker has the others.
    var writtenPartCount: Int

    var partCount: Int { records.reduce(0) { $0 + $1.partCount } }
    var end: Int { offset + partCount }
  }

  struct Header: Hashable, Sendable {
    var key: Int
    var slots: [Int]
  }

  /// A copy of the files that an attacker or a user kept.
  struct Copy: Hashable, Sendable {
    var journal: [Cell]
    var mark: [Cell]
    var state: StoreState
  }

  let scenario: Scenario
  var disk = ModelDisk()
  var life = RecordedLife()
  /// The layout of each change of ``life``.
  var layouts: [Layout] = []
  /// The version in the head of each journal of ``life``.
  var headVersions = [0]
  var headers = [Header(key: 0, slots: [0, 1])]
  /// The history of states that ``life`` refers to.
  var states: [StoreState] = [[]]
  var ledger = Ledger()
  var processes: [Process] = []
  var lock = StoreLock()
  var faults: Faults
  var lifeNumber = 0
  var pausesLeft: Int?
  /// The process that did the last step.
  var current: Int?
  /// Whether the kernel made the file system read-only.
  var isReadOnly = false
  /// The mark that was written last, whether or not it reached the disk.
  var newestMark = 0
  var payloadCount = 0
  var copy: Copy?

  /// Makes a store with some changes, before the first process begins.
  init(_ scenario: Scenario) {
    self.scenario = scenario
    faults = scenario.faults
    pausesLeft = scenario.pauses
    life.journals = [RecordedLife.Journal(predecessor: nil, key: 0)]
    var cells = [Cell.head(0)]
    var end: Int?
    for _ in 0..<scenario.initialChangeCount {
      let change = addPut(behind: end, in: 0)
      cells += parts(of: change)
      end = change
    }
    newestMark = markNumber(journal: 0, end: end)
    for (name, content) in [
      (Name.journal, cells), (.mark, [.mark(newestMark)]), (.header, [.header(0)]),
    ] {
      let file = disk.create(name)
      disk.files[file] = ModelFile(content)
    }
    disk.synchronizeNames()
    ledger.floor = states[life.state(at: end)]
    startLife()
  }

  /// Starts the processes of the next life.
  mutating func startLife() {
    processes = scenario.lives[lifeNumber].indices.map { _ in Process() }
    current = nil
  }

  func script(of process: Int) -> Scenario.Script { scenario.lives[lifeNumber][process] }

  /// A number that is equal for equal states, and for hardly any others.
  var fingerprint: Int {
    var hasher = Hasher()
    hasher.combine(disk)
    hasher.combine(life)
    hasher.combine(layouts)
    hasher.combine(headVersions)
    hasher.combine(headers)
    hasher.combine(states)
    hasher.combine(ledger)
    hasher.combine(processes)
    hasher.combine(lock)
    hasher.combine(faults)
    hasher.combine(lifeNumber)
    hasher.combine(pausesLeft)
    // Which process did the last step matters only where pauses are counted.
    if pausesLeft != nil { hasher.combine(current) }
    hasher.combine(isReadOnly)
    hasher.combine(newestMark)
    hasher.combine(copy)
    return hasher.finalize()
  }
}

/// The lock of the store: one writer, or any number of readers.
struct StoreLock: Hashable, Sendable {
  var writer: Int?
  var readers: [Int] = []

  func canTake(exclusively: Bool) -> Bool {
    writer == nil && (!exclusively || readers.isEmpty)
  }

  func isHeld(by process: Int) -> Bool { writer == process || readers.contains(process) }

  var isFree: Bool { writer == nil && readers.isEmpty }

  mutating func release(_ process: Int) {
    if writer == process { writer = nil }
    readers.removeAll { $0 == process }
  }
}
