import Dispatch
import Glibc
import SessionToolsBase
import Synchronization

/// Reads and checks the parts of a long journal on two threads: the caller's, and one of its own.
///
/// Parts are read before it is known where their first record starts, which the part before tells
/// as soon as it is read. Then its chain can be checked by one thread while the other goes on,
/// since every record bears the chain value that the next one needs. Where a part turns out to be
/// broken, nobody asks for those behind it.
final class SharedWalk {
  private let parts: Parts
  private var reader: JournalPartReader
  private let helper: Helper
  private var nextNumber = 0

  /// - Parameters:
  ///   - reader: For the caller's thread.
  ///   - helpingReader: The same for the other one.
  ///   - start: Where the first part starts.
  init(
    _ reader: JournalPartReader, _ helpingReader: JournalPartReader, from start: RecordPosition
  ) {
    self.reader = reader
    parts = Parts(from: start)
    helper = Helper(helpingReader, parts)
    HelperThread.start { [helper] in helper.run() }
  }

  deinit {
    // The helper uses the store's keys, which may be gone soon.
    parts.stopAndWaitForHelper()
    helper.letGo()
  }

  /// The next part; `nil` behind the last.
  ///
  /// Takes later ones until it is there.
  /// Not to be called again after an error.
  ///
  /// - Throws: `io`.
  func nextPart() throws(StoreError) -> JournalPart? {
    while !parts.isThere(nextNumber), parts.take(&reader) {}
    defer { nextNumber += 1 }
    return try parts.fetch(nextNumber).get()
  }
}

/// Takes parts on another thread.
///
/// Its thread alone uses its reader, which is let go when the thread has left, or will find that it
/// comes too late: this makes the unchecked conformance true.
private final class Helper: @unchecked Sendable {
  private var reader: JournalPartReader?
  private let parts: Parts

  init(_ reader: JournalPartReader, _ parts: Parts) {
    self.reader = reader
    self.parts = parts
  }

  func run() {
    guard parts.beginHelping(), var reader else { return }
    while parts.take(&reader) || parts.waitForRoom() {}
  }

  /// Lets go of memory and file, once the parts are over: a thread that comes late keeps this object.
  func letGo() { reader = nil }
}

/// The parts of a journal, in the order of their numbers, each taken by one thread.
private final class Parts: Sendable {
  /// A part that is being read, or was.
  ///
  /// `start` is written before `isStartKnown` is signalled, by the thread that has the part
  /// before, and `result` before `isDone`, by the one that has this part; each is read after
  /// that. This makes the unchecked conformance true.
  final class Place: @unchecked Sendable {
    let isStartKnown = DispatchSemaphore(value: 0)
    /// `nil` when the part before was the last.
    var start: RecordPosition?
    let isDone = DispatchSemaphore(value: 0)
    /// Whether that was signalled: a wait that ends at once would call the kernel.
    let isThere = Atomic(false)
    /// `nil` when no part starts here.
    var result: Result<JournalPart?, StoreError> = .success(nil)
  }

  private enum HelperState {
    /// Shall come, and never does where no thread could be started.
    case called
    case atWork
    /// Waits for room.
    case waiting
    case gone
  }

  private struct State {
    var nextNumber = 0
    var fetchedCount = 0
    var isOver = false
    var helper = HelperState.called
    /// Whether records were short in the part before, so that the next ones have records as well.
    var isDense = false

    // One place is for the start of the part behind the last one that was taken.
    var room: Int { isOver ? 0 : fetchedCount + Parts.placeCount - 1 - nextNumber }
  }

  /// What was taken and not fetched yet takes some hundred kilobytes.
  private static let placeCount = 8
  /// A part with so many records has short ones.
  private static let denseCount = 8

  private let places = (0..<placeCount).map { _ in Place() }
  /// Where the first part begins in the file.
  private let firstByte: Int
  private let state = Mutex(State())
  /// Signalled when the helper waits and shall go on.
  private let goesOn = DispatchSemaphore(value: 0)
  /// Signalled when the helper has left.
  private let isHelperGone = DispatchSemaphore(value: 0)

  init(from start: RecordPosition) {
    firstByte = JournalPage.start(of: start.byteCount)
    begin(0, at: start)
  }

  private func place(_ number: Int) -> Place { places[number % Self.placeCount] }

  private func begin(_ number: Int, at start: RecordPosition?) {
    place(number).start = start
    place(number).isStartKnown.signal()
  }

  /// Reads and checks the next part; `false` when there is none, or enough were taken.
  func take(_ reader: inout JournalPartReader) -> Bool {
    let next = state.withLock { state -> (number: Int, isDense: Bool)? in
      guard state.room > 0 else { return nil }
      defer { state.nextNumber += 1 }
      return (state.nextNumber, state.isDense)
    }
    guard let (number, isDense) = next else { return false }
    do throws(StoreError) {
      place(number).result = .success(try part(number, by: &reader, isDense: isDense))
    } catch {
      state.withLock { stop(&$0) }
      begin(number + 1, at: nil)
      place(number).result = .failure(error)
    }
    place(number).isThere.store(true, ordering: .releasing)
    place(number).isDone.signal()
    return true
  }

  private func part(
    _ number: Int, by reader: inout JournalPartReader, isDense: Bool
  ) throws(StoreError) -> JournalPart? {
    let partByteCount = JournalPartReader.partByteCount
    let range = firstByte + number * partByteCount..<firstByte + (number + 1) * partByteCount
    // In vain when it fails: there may be a bad sector in a record's bytes that nobody needs.
    let isLoaded = isDense && (try? reader.load(range.lowerBound)) != nil
    place(number).isStartKnown.waitAwake()
    guard let start = place(number).start else {
      begin(number + 1, at: nil)
      return nil
    }
    var part = JournalPart(at: start)
    if range.contains(start.byteCount) {
      if !isLoaded { try reader.load(JournalPage.start(of: start.byteCount)) }
      part = try reader.part(from: start, before: range.upperBound)
    }
    state.withLock { state in
      state.isDense = part.records.count >= Self.denseCount
      if part.isLast { stop(&state) }
    }
    begin(number + 1, at: part.isLast ? nil : part.end)
    reader.check(&part, from: start)
    return part
  }

  /// Whether nobody has to wait for a part.
  func isThere(_ number: Int) -> Bool { place(number).isThere.load(ordering: .acquiring) }

  /// Waits for a part that was taken; makes room for another.
  func fetch(_ number: Int) -> Result<JournalPart?, StoreError> {
    let place = place(number)
    place.isDone.waitAwake()
    place.isThere.store(false, ordering: .relaxed)
    state.withLock { state in
      state.fetchedCount += 1
      // Enough to do to wake it.
      if state.room >= Self.placeCount / 2 { wakeHelper(&state) }
    }
    return place.result
  }

  /// Whether the helper, which has come, is still wanted.
  func beginHelping() -> Bool {
    state.withLock { state in
      guard !state.isOver else { return false }
      state.helper = .atWork
      return true
    }
  }

  /// Waits until there is more to take for the helper; `false` when it is to leave.
  func waitForRoom() -> Bool {
    let next = state.withLock { state in
      state.helper = state.isOver ? .gone : state.room == 0 ? .waiting : .atWork
      return state.helper
    }
    if next == .waiting { goesOn.wait() }
    if next == .gone { isHelperGone.signal() }
    return next != .gone
  }

  private func wakeHelper(_ state: inout State) {
    guard state.helper == .waiting else { return }
    state.helper = .atWork
    goesOn.signal()
  }

  /// Lets no thread take any more.
  private func stop(_ state: inout State) {
    state.isOver = true
    wakeHelper(&state)
  }

  /// Lets no thread take any more, and waits until the helper does nothing any longer.
  ///
  /// Not for one that has not come yet: it will find that it comes too late.
  func stopAndWaitForHelper() {
    let isAtWork = state.withLock { state in
      stop(&state)
      return state.helper == .atWork
    }
    if isAtWork { isHelperGone.wait() }
  }
}

extension DispatchSemaphore {
  /// Waits, and lets others run at first without sleeping: who is woken by the other thread often
  /// comes to the processor of that one, and stays there.
  fileprivate func waitAwake() {
    for _ in 0..<500 {
      if wait(timeout: DispatchTime(uptimeNanoseconds: 0)) == .success { return }
      sched_yield()
    }
    wait()
  }
}
