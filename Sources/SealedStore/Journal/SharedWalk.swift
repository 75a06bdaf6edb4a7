import Dispatch
import Glibc
import SecretStores
import Synchronization

/// A walk that reads and checks the parts of a long journal on two threads: the caller's and a
/// helper's.
///
/// A part is loaded before it is known where its first record starts; this is known as soon as the
/// part before it is read. Then one thread can check the chain of that part while the other
/// continues, since every record contains the chain value that the next one needs. If a part is
/// broken, the parts behind it are not used.
final class SharedWalk {
  private let parts: Parts
  private var reader: JournalPartReader
  private let helper: Helper
  private var nextNumber = 0

  /// - Parameters:
  ///   - reader: The reader for the caller's thread.
  ///   - helpingReader: The same reader for the helper's thread.
  ///   - start: The start of the first part.
  init(
    _ reader: JournalPartReader, _ helpingReader: JournalPartReader, from start: RecordPosition
  ) {
    self.reader = reader
    parts = Parts(from: start)
    helper = Helper(helpingReader, parts)
    HelperThread.start { [helper] in helper.run() }
  }

  deinit {
    // The helper uses the store's keys, which may be wiped soon.
    parts.stopAndWaitForHelper()
    helper.letGo()
  }

  /// Returns the next part; `nil` behind the last.
  ///
  /// Until that part is ready, the caller's thread also takes parts. Do not call this again
  /// after an error.
  ///
  /// - Throws: `io`.
  func nextPart() throws(StoreError) -> JournalPart? {
    while !parts.isThere(nextNumber), parts.take(&reader) {}
    defer { nextNumber += 1 }
    return try parts.fetch(nextNumber).get()
  }
}

/// A helper that takes parts on another thread.
///
/// Only its thread uses its reader, which is released when the thread has left, or will find that
/// it comes too late. This makes the unchecked conformance correct.
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

  /// Releases memory and file once no more parts are taken: a late thread retains this object.
  func letGo() { reader = nil }
}

/// The parts of a journal, in the order of their numbers, each taken by one thread.
private final class Parts: Sendable {
  /// A part that is being read, or was read.
  ///
  /// The thread that has the part before writes `start` and then signals `isStartKnown`. The thread
  /// that has this part writes `result` and then signals `isDone`. Each is read only after its
  /// signal. This makes the unchecked conformance correct.
  final class Place: @unchecked Sendable {
    let isStartKnown = DispatchSemaphore(value: 0)
    /// The start of the part; `nil` when the part before was the last.
    var start: RecordPosition?
    let isDone = DispatchSemaphore(value: 0)
    /// Whether `isDone` was signaled: even a wait that ends at once would call the kernel.
    let isThere = Atomic(false)
    /// The part; `nil` when no part starts here.
    var result: Result<JournalPart?, StoreError> = .success(nil)
  }

  private enum HelperState {
    /// Expected to come, which never happens if no thread could be started.
    case called
    case atWork
    /// Waiting for room.
    case waiting
    case gone
  }

  private struct State {
    var nextNumber = 0
    var fetchedCount = 0
    var isOver = false
    var helper = HelperState.called
    /// Whether records were short in the part before, so that the next parts have records, too.
    var isDense = false

    // One place is kept for the start of the part behind the last one that was taken.
    var room: Int { isOver ? 0 : fetchedCount + Parts.placeCount - 1 - nextNumber }
  }

  /// The number of places: parts that are taken and not fetched yet use some hundred kilobytes.
  private static let placeCount = 8
  /// The number of records from which on a part is dense: its records are short.
  private static let denseCount = 8

  private let places = (0..<placeCount).map { _ in Place() }
  /// The start of the first part in the file.
  private let firstByte: Int
  private let state = Mutex(State())
  /// Signaled when the helper is waiting and should continue.
  private let goesOn = DispatchSemaphore(value: 0)
  /// Signaled when the helper has left.
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

  /// Reads and checks the next part; `false` when there is no next part, or enough were taken.
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
    // A failure is ignored: the bad sector may be in bytes of a record that are not needed.
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

  /// Returns whether a part is ready, so that it can be fetched without waiting.
  func isThere(_ number: Int) -> Bool { place(number).isThere.load(ordering: .acquiring) }

  /// Waits for a part that was taken, returns it, and makes room for another.
  func fetch(_ number: Int) -> Result<JournalPart?, StoreError> {
    let place = place(number)
    place.isDone.waitAwake()
    place.isThere.store(false, ordering: .relaxed)
    state.withLock { state in
      state.fetchedCount += 1
      // There is enough to do to wake the helper.
      if state.room >= Self.placeCount / 2 { wakeHelper(&state) }
    }
    return place.result
  }

  /// Registers that the helper has come, and returns whether it is still needed.
  func beginHelping() -> Bool {
    state.withLock { state in
      guard !state.isOver else { return false }
      state.helper = .atWork
      return true
    }
  }

  /// Waits until there are more parts for the helper to take; `false` when it should leave.
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

  /// Makes both threads take no more parts.
  private func stop(_ state: inout State) {
    state.isOver = true
    wakeHelper(&state)
  }

  /// Makes both threads take no more parts, and waits until the helper has stopped.
  ///
  /// This does not wait for a helper that has not come yet: it will find that it comes too late.
  func stopAndWaitForHelper() {
    let isAtWork = state.withLock { state in
      stop(&state)
      return state.helper == .atWork
    }
    if isAtWork { isHelperGone.wait() }
  }
}

extension DispatchSemaphore {
  /// Waits, at first by yielding the processor and not by sleeping.
  ///
  /// A thread that another one wakes is often moved to the processor of that one and stays there.
  /// On a busy machine a thread that yields is passed over for milliseconds, so it does not do that
  /// again.
  fileprivate func waitAwake() {
    let end = ContinuousClock.now + .microseconds(200)
    repeat {
      if wait(timeout: DispatchTime(uptimeNanoseconds: 0)) == .success { return }
      sched_yield()
    } while ContinuousClock.now < end
    wait()
  }
}
