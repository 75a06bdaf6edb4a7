import Dispatch
import Foundation
import Synchronization

/// Runs a closure on several threads of their own that start together, and waits for all.
func onThreads<Result: Sendable>(
  _ count: Int, _ body: @escaping @Sendable (Int) -> Result
) async -> [Result] {
  let gate = DispatchSemaphore(value: 0)
  let results = Mutex([Result?](repeating: nil, count: count))
  let shared = SharedResults(results: results)
  await withCheckedContinuation { continuation in
    let group = DispatchGroup()
    for index in 0..<count {
      group.enter()
      Thread.detachNewThread {
        gate.wait()
        let result = body(index)
        shared.results.withLock { $0[index] = result }
        group.leave()
      }
    }
    for _ in 0..<count { gate.signal() }
    group.notify(queue: .global()) { continuation.resume() }
  }
  return shared.results.withLock { $0.compactMap(\.self) }
}

private final class SharedResults<Result: Sendable>: Sendable {
  let results: Mutex<[Result?]>

  init(results: consuming sending Mutex<[Result?]>) {
    self.results = results
  }
}

/// Runs blocking code outside of the cooperative pool.
func blocking<Result: Sendable>(
  _ body: @escaping @Sendable () throws -> Result
) async throws -> Result {
  try await withCheckedThrowingContinuation { continuation in
    Thread.detachNewThread { continuation.resume(with: Swift.Result { try body() }) }
  }
}

/// A value that several threads change.
final class Shared<Value: Sendable>: Sendable {
  private let value: Mutex<Value>

  init(_ value: Value) {
    self.value = Mutex(value)
  }

  var current: Value { value.withLock { $0 } }

  func update<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
    value.withLock { value in body(&value) }
  }
}

/// Whether the current thread is one of executors for work that blocks.
var isOnBlockingThread: Bool {
  (try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)) == "session-tools\n"
}
