import SealedStore
import SessionToolsStoreTestSupport
import SessionToolsTestSupport
import Testing

/// Makes one change, and delays it at its sync until threads wait behind it: their changes are
/// committed together, in the order of the threads' numbers.
///
/// - Parameters:
///   - count: The number of threads that wait; they are numbered from 1.
///   - store: The store.
///   - disk: The store's file system.
///   - rule: A rule for the calls of all these changes.
///   - body: The change of a thread.
/// - Throws: The first error that any of them threw.
func inOneBatch(
  _ count: Int, in store: SealedFileStore, on disk: FaultyFileSystem,
  _ rule: FaultyFileSystem.Rule? = nil, _ body: @escaping @Sendable (Int) throws -> Void
) throws {
  let isFirst = Locked(true)
  let others = Locked<[KernelThread]>([])
  @Sendable func areWaiting(_ count: Int) -> Bool {
    let others = others.value
    return others.count == count && areAsleep(others)
  }
  disk.setRule { call in
    let holds = isFirst.withLock { isFirst in
      guard isFirst, call.kind == .synchronizeData else { return false }
      isFirst = false
      return true
    }
    guard holds else { return rule?(call) }
    #expect(throws: Never.self) {
      try blockingWait(until: "all wait") { areWaiting(count) }
    }
    return rule?(call)
  }
  try inThreads(count + 1) { thread in
    if thread == 0 { return try store.put("first", as: "first") }
    try blockingWait(until: "the threads before wait") {
      !isFirst.value && areWaiting(thread - 1)
    }
    let this = try KernelThread.current()
    others.withLock { $0.append(this) }
    try body(thread)
  }
}
