import SealedStore
import SessionToolsBase
import Testing

@Suite struct ExclusiveAccessTests {
  let scratch: Scratch
  let store: SealedFileStore

  init() throws {
    scratch = try Scratch()
    store = try scratch.create()
  }

  /// A counter whose slow increments would be lost if other callers ran in between.
  private final class Counter: Sendable {
    private let value = Locked(0)

    var total: Int { value.value }

    func addSlowly() {
      let before = value.value
      for _ in 0..<50 { _ = value.value }
      value.withLock { $0 = before + 1 }
    }
  }

  @Test func `threads of two handles get access to one name one after the other`() throws {
    let other = try scratch.open()
    let counter = Counter()
    try inThreads(8) { thread in
      for _ in 0..<25 {
        try (thread.isMultiple(of: 2) ? store : other)
          .withExclusiveAccess(to: name("counter"), timeout: .seconds(300)) {
            counter.addSlowly()
          }
      }
    }
    #expect(counter.total == 200)
  }

  @Test func `tasks of two handles get access to one name one after the other`() async throws {
    let other = try scratch.open()
    let counter = Counter()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<8 {
        group.addTask { [store] in
          for _ in 0..<25 {
            try await (task.isMultiple(of: 2) ? store : other)
              .withExclusiveAccess(to: name("counter"), timeout: .seconds(300)) {
                await Task.yield()
                counter.addSlowly()
              }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(counter.total == 200)
  }

  @Test func `a nested request, on the same or another handle, waits until the timeout`() throws {
    let other = try scratch.open()
    try store.withExclusiveAccess(to: name("a"), timeout: .zero) {
      for handle in [store, other] {
        let outcome = try code {
          try handle.withExclusiveAccess(to: name("a"), timeout: .milliseconds(20)) {}
        }
        #expect(outcome == StoreError.timedOut)
        try handle.withExclusiveAccess(to: name("b"), timeout: .zero) {}
      }
    }
    try other.withExclusiveAccess(to: name("a"), timeout: .zero) {}
  }

  @Test(arguments: [Duration.zero, .seconds(-5), .milliseconds(1)])
  func `nothing is held after a timeout`(timeout: Duration) throws {
    let other = try scratch.open()
    try other.withExclusiveAccess(to: name("a"), timeout: .zero) {
      let outcome = try code { try store.withExclusiveAccess(to: name("a"), timeout: timeout) {} }
      #expect(outcome == StoreError.timedOut)
    }
    try store.withExclusiveAccess(to: name("a"), timeout: timeout) {}
    try other.withExclusiveAccess(to: name("a"), timeout: timeout) {}
  }

  @Test func `access ends with the closure, even if it throws`() throws {
    struct Failure: Error {}
    #expect(throws: Failure.self) {
      try store.withExclusiveAccess(to: name("a"), timeout: .zero) { throw Failure() }
    }
    let result = try scratch.open().withExclusiveAccess(to: name("a"), timeout: .zero) { 7 }
    #expect(result == 7)
  }

  @Test(.timeLimit(.minutes(10)))
  func `a task that is cancelled while it waits ends immediately and holds nothing`() async throws {
    let other = try scratch.open()
    for holder in [store, other] {
      let name = try name("a")
      let outcome = try await holder.withExclusiveAccess(to: name, timeout: .seconds(60)) {
        let waiting = Task { [store] in
          do {
            try await store.withExclusiveAccess(to: name, timeout: .seconds(3600)) {
              await Task.yield()
            }
            return "held"
          } catch {
            return "\((error as? StoreError)?.code.description ?? "\(error)")"
          }
        }
        waiting.cancel()
        return await waiting.value
      }
      #expect(outcome == "cancelled")
      try await store.withExclusiveAccess(to: name, timeout: .seconds(60)) { await Task.yield() }
    }
  }

  @Test func `changes inside exclusive access are made and seen`() throws {
    try store.withExclusiveAccess(to: name("a"), timeout: .zero) {
      try store.put("inside", as: "a")
      let value = try scratch.open().text("a")
      #expect(value == "inside")
    }
  }
}
