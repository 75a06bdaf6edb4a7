/// One process that uses the store.
struct Process: Hashable, Sendable {
  /// How many operations of its script it has begun.
  var begunCount = 0
  /// What is left of the operation under way; the last one is next.
  var steps: [Step] = []
  /// The store, when it has it open.
  var view: View?
  /// The furthest state that the open store answered.
  var seen: StoreState = []
  /// Whether 100 ms passed since it looked at the names.
  var isLookAtNamesDue = false
  var task = Task()
}

/// What a process knows of a store that it has open.
struct View: Hashable, Sendable {
  var journalFile: Int
  var markFile: Int
  var journal: Int
  /// The last change that counts; `nil` for the head.
  var end: Int?
  /// The mark that it saw last.
  var mark: Cell
  /// Whether it synced the directory since it opened the journal.
  var isNameDurable = false
}

/// What a process keeps in its memory during one operation.
struct Task: Hashable, Sendable {
  var operation = Operation.close
  /// The furthest state that was confirmed or read when it began.
  var floor: StoreState = []
  var headers: [Cell] = []
  var mark = Cell.zero
  var markFile = 0
  /// Whether it waited until a writer wrote a mark, which it takes as it is.
  var takesMarkAsIs = false
  /// The bytes of the last change that counts, as they were verified.
  var memory: [Cell] = []
  /// What the settling under way drops.
  var dropped: [Int] = []
  /// What a rewriting puts.
  var items: StoreState = []
  /// What stands in the head of the new journal.
  var headVersion = 0
  var key = 0
  /// The mark that a repair puts in the head of the new journal.
  var predecessor: Int?
}

/// A piece of an operation that does at most one thing that another process or the disk notices.
enum Step: Hashable, Sendable {
  // Opening
  case takeLock
  case awaitLockOrMark
  case readHeaders, readMark, readJournal
  /// All three at once, by the process that holds the lock.
  case look
  case compareMark
  case synchronizeForReading, readDirectly

  // Settling
  case writeAgain, cutOff, writeVoid, writeOwnMark
  /// The store is open and settled.
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
