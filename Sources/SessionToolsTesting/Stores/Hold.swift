import Dispatch
import SessionToolsBase

/// Exclusive access to a name that lasts until ``end()`` is called.
struct Hold: Sendable {
  private let work: Task<Void, any Error>
  private let release: @Sendable () -> Void

  /// Releases the name, and waits until it is free.
  func end() async throws {
    release()
    try await work.value
  }

  /// Takes a name in a task of its own.
  ///
  /// - Throws: The error that the store throws instead of granting access.
  static func taken(
    _ name: ItemName, of store: any SecretStore, by kind: CallKind, timeout: Duration
  ) async throws -> Hold {
    let (entries, entry) = AsyncStream.makeStream(of: Void.self)
    let (releases, releaser) = AsyncStream.makeStream(of: Void.self)
    let isReleased = DispatchSemaphore(value: 0)
    let work = Task {
      defer { entry.finish() }
      switch kind {
      case .blocking:
        try await onOwnThread {
          try store.withExclusiveAccess(to: name, timeout: timeout) {
            entry.yield()
            isReleased.wait()
            // A store that wrongly runs the closure twice must not wait twice.
            isReleased.signal()
          }
        }
      case .async:
        try await store.withExclusiveAccess(to: name, timeout: timeout) {
          entry.yield()
          for await _ in releases {}
        }
      }
    }
    for await _ in entries {
      return Hold(work: work) {
        isReleased.signal()
        releaser.finish()
      }
    }
    try await work.value
    throw Finding(
      expected: "the closure to be run with exclusive access to \(name.described)",
      seen: "a return without running it")
  }
}

extension ItemName {
  /// Returns a name that no other run of a check uses: stores of this process may share locks.
  static func fresh(_ identifier: String = "item") throws -> ItemName {
    try ItemName(
      identifier, in: StoreNamespace(service: "conformance \(UInt64.random(in: 0...UInt64.max))"))
  }
}

extension StoreProbe {
  /// Takes a name until the hold is ended.
  func hold(_ name: ItemName, by kind: CallKind? = nil) async throws -> Hold {
    try await Hold.taken(name, of: store, by: kind ?? self.kind, timeout: patience)
  }

  /// Takes a name for a moment.
  func enter(_ name: ItemName, timeout: Duration, by kind: CallKind? = nil) async throws {
    let isEntered = Shared(false)
    switch kind ?? self.kind {
    case .blocking:
      try await onOwnThread { [store] in
        try store.withExclusiveAccess(to: name, timeout: timeout) {
          isEntered.update { $0 = true }
        }
      }
    case .async:
      try await store.withExclusiveAccess(to: name, timeout: timeout) { () async in
        isEntered.update { $0 = true }
      }
    }
    try expect(
      isEntered.current, "the closure to be run with exclusive access",
      seen: "a return without running it")
  }

  /// Expects that a name is free.
  func expectFree(_ name: ItemName, _ when: String) async throws {
    for kind in CallKind.allCases {
      do {
        try await enter(name, timeout: .zero, by: kind)
      } catch {
        throw Finding(
          expected: "\(kind) calls to get the name \(when)", seen: error.described,
          underlying: error)
      }
    }
  }
}
