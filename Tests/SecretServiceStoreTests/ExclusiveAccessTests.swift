import Foundation
import SecretServiceStore
import SessionToolsBase
import Synchronization
import TestSupport
import Testing

/// A room in which only one may be at a time.
private final class Room: Sendable {
  private let state = Mutex((inside: 0, total: 0))

  var total: Int { state.withLock { $0.total } }

  func enter() {
    state.withLock { state in
      precondition(state.inside == 0, "two have it")
      state = (1, state.total + 1)
    }
  }

  func leave() { state.withLock { $0.inside = 0 } }

  static func mustBeEmpty() { preconditionFailure("two have it") }
}

/// In processes of their own, because the environment determines where the lock file is.
@Suite(.fewAtATime) struct ExclusiveAccessTests {
  private static func inRuntimeDirectory(_ path: String) {
    _ = unsafe setenv("XDG_RUNTIME_DIR", path, 1)
  }

  @Test func `of tasks, threads and stores, one at a time has a name`() async throws {
    let directory = try TemporaryDirectory()
    await #expect(processExitsWith: .success) { [path = directory.path as String] in
      Self.inRuntimeDirectory(path)
      let stores = [SecretServiceStore(), SecretServiceStore()]
      let key = try StoreKey("item", in: "service")
      let room = Room()
      try await withThrowingTaskGroup { group in
        for number in 0..<8 {
          let store = stores[number % 2]
          group.addTask { [store, room] in
            for _ in 0..<20 {
              try await store.withExclusiveAccess(to: key, timeout: .seconds(60)) {
                room.enter()
                await Task.yield()
                room.leave()
              }
            }
          }
          group.addTask { [store, room] in
            try await onThread {
              for _ in 0..<20 {
                try store.withExclusiveAccess(to: key, timeout: .seconds(60)) {
                  room.enter()
                  room.leave()
                }
              }
            }
          }
        }
        try await group.waitForAll()
      }
      precondition(room.total == 320)
    }
    #expect(FileManager.default.fileExists(atPath: directory["session-tools/lock"]))
  }

  @Test func `of processes, one at a time has a name`() async throws {
    let directory = try TemporaryDirectory()
    try "0".write(toFile: directory["count"], atomically: true, encoding: .utf8)
    try await withThrowingTaskGroup { group in
      for _ in 0..<4 {
        group.addTask { [path = directory.path] in
          await #expect(processExitsWith: .success) { [path = path as String] in
            Self.inRuntimeDirectory(path)
            let store = SecretServiceStore()
            let key = try StoreKey("item", in: "service")
            for _ in 0..<100 {
              try store.withExclusiveAccess(to: key, timeout: .seconds(60)) {
                // A count is lost if two do this at the same time.
                let file = "\(path)/count"
                let count = Int(try String(contentsOfFile: file, encoding: .utf8)) ?? -1
                try "\(count + 1)".write(toFile: file, atomically: true, encoding: .utf8)
              }
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try String(contentsOfFile: directory["count"], encoding: .utf8) == "400")
  }

  @Test func `a waiter that waits too long or is cancelled does not get the name`() async throws {
    let directory = try TemporaryDirectory()
    await #expect(processExitsWith: .success) { [path = directory.path as String] in
      Self.inRuntimeDirectory(path)
      let (store, other) = (SecretServiceStore(), SecretServiceStore())
      let (key, free) = (try StoreKey("item", in: "a"), try StoreKey("free", in: "a"))
      try await store.withExclusiveAccess(to: key, timeout: .seconds(60)) {
        for waiting in [store, other] {
          let late = await failure {
            try await waiting.withExclusiveAccess(to: key, timeout: .milliseconds(50)) {
              () async in Room.mustBeEmpty()
            }
          }
          precondition(late == StoreError.timedOut)
          let lateThread = await failure {
            try await onThread {
              try waiting.withExclusiveAccess(to: key, timeout: .milliseconds(50)) {
                Room.mustBeEmpty()
              }
            }
          }
          precondition(lateThread == StoreError.timedOut)
          let task = Task {
            try await waiting.withExclusiveAccess(to: key, timeout: .seconds(600)) {
              () async in Room.mustBeEmpty()
            }
          }
          task.cancel()
          let cancelled = await failure { try await task.value }
          precondition(cancelled == StoreError.cancelled)
          // Another name is free.
          try await waiting.withExclusiveAccess(to: free, timeout: .zero) { () async in }
        }
      }
      try await other.withExclusiveAccess(to: key, timeout: .zero) { () async in }
    }
  }

  @Test func `a directory that others can write to is refused`() async throws {
    let directory = try TemporaryDirectory()
    let path = directory["session-tools"]
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o777])
    try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: path)
    await #expect(processExitsWith: .success) { [path = directory.path as String] in
      Self.inRuntimeDirectory(path)
      let key = try StoreKey("item", in: "service")
      let code = await failure {
        try await SecretServiceStore().withExclusiveAccess(to: key, timeout: .zero) { () async in }
      }
      precondition(code == StoreError.unsafePermissions)
    }
  }
}
