import Dispatch
import Foundation
import SealedStore
import SessionToolsBase
import Synchronization
import SessionToolsTestStores

/// The moment at which a process dies.
enum Moment: Hashable, Sendable {
  case never
  /// Before the refresh token is sent.
  case beforeRequest
  /// After the answer has arrived, before it is stored.
  case afterRequest
  /// Before an operation of the store, the first being 1.
  case beforeOperation(Int)
  /// After an operation of the store.
  case afterOperation(Int)

  init(_ text: String) {
    let parts = text.split(separator: ":")
    switch (parts.first, parts.last.flatMap { Int($0) }) {
    case ("never", nil): self = .never
    case ("before-request", nil): self = .beforeRequest
    case ("after-request", nil): self = .afterRequest
    case ("before", let number?): self = .beforeOperation(number)
    case ("after", let number?): self = .afterOperation(number)
    default: fail("no such moment: \(text)")
    }
  }
}

/// Refreshes once, and dies at the moment.
///
/// If it survives, it reports the outcome, the item's number, and the number of operations.
func refresh(dyingAt moment: Moment) async throws {
  let dying = DyingStore(store, at: moment)
  let session = try session(in: dying, of: server) { _, send in
    die(at: .beforeRequest, if: moment)
    let credentials = try await send()
    die(at: .afterRequest, if: moment)
    return credentials
  }
  do {
    let credentials = try await session.validItem(.always)
    say("refreshed \(credentials.sequence) \(dying.operationCount)")
  } catch SessionError.rejected {
    say("rejected - \(dying.operationCount)")
  }
}

private func die(at moment: Moment, if chosen: Moment) {
  guard moment == chosen else { return }
  kill(getpid(), SIGKILL)
  // Waits for the signal.
  while true { pause() }
}

/// A store whose process dies before or after one of its operations.
final class DyingStore: BlockingSecretStore, ConditionalStore, ForwardingStore {
  var executor: BlockingExecutor { base.executor }
  let base: SealedFileStore
  private let moment: Moment
  private let count = Mutex(0)

  init(_ store: SealedFileStore, at moment: Moment) {
    self.base = store
    self.moment = moment
  }

  var operationCount: Int { count.withLock { $0 } }

  private func counted<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result
  {
    let number = nextNumber()
    die(at: .beforeOperation(number), if: moment)
    let result = try body()
    die(at: .afterOperation(number), if: moment)
    return result
  }

  func value(for name: ItemName) throws(StoreError) -> SecretBytes? {
    try counted { () throws(StoreError) in try base.value(for: name) }
  }

  func apply(_ changes: [StoreChange]) throws(StoreError) {
    try counted { () throws(StoreError) in try base.apply(changes) }
  }

  func asyncApply(
    _ changes: [StoreChange], if condition: ItemCondition
  ) async throws(StoreError) -> ChangeOutcome {
    let number = nextNumber()
    die(at: .beforeOperation(number), if: moment)
    let outcome = try await base.asyncApply(changes, if: condition)
    die(at: .afterOperation(number), if: moment)
    return outcome
  }

  private func nextNumber() -> Int {
    count.withLock { count in
      count += 1
      return count
    }
  }

  func names(in namespace: StoreNamespace?) throws(StoreError) -> [ItemName] {
    try base.names(in: namespace)
  }
}
