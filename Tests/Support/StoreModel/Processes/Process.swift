/// A process that uses the store.
struct Process: Hashable, Sendable {
  /// The number of operations of its script that it has begun.
  var begunCount = 0
  /// The remaining steps of the current operation, in reverse order.
  var steps: [Step] = []
  /// The store, if the process has it open.
  var view: View?
  /// The furthest state that the open store returned.
  var seen: StoreState = []
  /// Whether 100 ms have passed since it checked the names.
  var isNameCheckDue = false
  var task = Task()
}

/// The knowledge of a process about a store that it has open.
struct View: Hashable, Sendable {
  var journalFile: Int
  var markFile: Int
  var journal: Int
  /// The last change that counts; `nil` for the head.
  var end: Int?
  /// The mark that it last saw.
  var mark: Cell
  /// Whether it has synced the directory since it opened the journal.
  var isNameDurable = false
}

/// The memory of a process during one operation.
struct Task: Hashable, Sendable {
  var operation = Operation.close
  /// The furthest state that had been confirmed or read when the operation began.
  var floor: StoreState = []
  var headers: [Cell] = []
  var mark = Cell.zero
  var markFile = 0
  /// Whether it waited until a writer wrote a mark, which it uses as it is.
  var takesMarkAsIs = false
  /// The verified bytes of the last change that counts.
  var memory: [Cell] = []
  /// The items that the current recovery drops.
  var dropped: [Int] = []
  /// The items that a rewriting puts.
  var items: StoreState = []
  /// The version in the head of the new journal.
  var headVersion = 0
  var key = 0
  /// The mark that a repair puts in the head of the new journal.
  var predecessor: Int?
}

/// A piece of an operation with at most one effect on another process or the disk.
enum Step: Hashable, Sendable {
  // Opening
  case takeLock
  case awaitLockOrMark
  case readHeaders, readMark, readJournal
  /// Reads all three at once, in the process that holds the lock.
  case inspect
  case compareMark
  case synchronizeForReading, readDirectly

  // Recovery
  case writeAgain, cutOff, writeVoid, writeOwnMark
  /// The store is open and recovered.
  case arrive

  // Writing
  case writeChange, cutBack, failForSpace
  case synchronizeJournal
  case synchronizeDirectoryOnce
  case writeMark

  // Rewriting
  case writeMarkAgain, writeRandomMark, synchronizeMark
  case writeNextHeader, writeNextJournal, synchronizeNextJournal
  case renameJournal, synchronizeDirectory
  case putHeader, removeNextHeader
  case waitForReaders

  // Answers
  case answer, confirm
}
