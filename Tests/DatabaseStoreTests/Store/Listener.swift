import SessionToolsBase
import Synchronization
import SessionToolsTestSupport

/// What a stream of changes has reported, collected by a task.
final class Listener: Sendable {
  private struct State {
    var reported: Set<ItemName> = []
    var resynchronizationCount = 0
    var task: Task<Void, Never>?
  }

  private let state = Mutex(State())

  init(_ stream: AsyncStream<StoreEvent>) {
    let task = Task.detached { [weak self] in
      for await event in stream {
        guard let self else { return }
        self.state.withLock { state in
          switch event {
          case .changed(let names): state.reported.formUnion(names)
          case .resynchronize: state.resynchronizationCount += 1
          }
        }
      }
    }
    state.withLock { $0.task = task }
  }

  deinit { state.withLock { $0.task?.cancel() } }

  /// The names that were reported.
  var reported: Set<ItemName> { state.withLock { $0.reported } }
  var count: Int { reported.count }
  /// How often it was reported that anything may have changed.
  var resynchronizationCount: Int { state.withLock { $0.resynchronizationCount } }

  /// Waits for the first look, which reports that anything may have changed before it.
  func waitForBegin() async throws {
    try await wait(until: "the stream has begun") { resynchronizationCount > 0 }
  }
}
