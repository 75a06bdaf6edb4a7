import SessionToolsBusTestSupport
import Foundation
import SealedStore
import SecretServiceStore
import SessionTools
import SessionToolsBase
import Synchronization
import SessionToolsTestSupport
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
      let name = try ItemName("item", in: "service")
      let room = Room()
      try await withThrowingTaskGroup { group in
        for number in 0..<8 {
          let store = stores[number % 2]
          group.addTask { [store, room] in
            for _ in 0..<20 {
              try await store.withExclusiveAccess(to: name, timeout: .seconds(60)) {
                room.enter()
                await Task.yield()
                room.leave()
              }
            }
          }
          group.addTask { [store, room] in
            try await onThread {
              for _ in 0..<20 {
                try store.withExclusiveAccess(to: name, timeout: .seconds(60)) {
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
            let name = try ItemName("item", in: "service")
            for _ in 0..<100 {
              try store.withExclusiveAccess(to: name, timeout: .seconds(60)) {
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

  /// As a job of cron and a program of the desktop, which share only the bus.
  @Test func `of processes with different environments on one bus, one at a time has a name`()
    async throws
  {
    let bus = try await PrivateBus()
    let keyring = try await GnomeKeyring(on: bus)
    try "0".write(toFile: bus["count"], atomically: true, encoding: .utf8)
    try await withThrowingTaskGroup { group in
      for number in 0..<4 {
        group.addTask { [address = bus.address, count = bus["count"], runtime = bus["runtime"]] in
          await #expect(processExitsWith: .success) {
            [
              address = address as String, count = count as String, runtime = runtime as String,
              number = number as Int
            ] in
            _ = unsafe setenv("DBUS_SESSION_BUS_ADDRESS", address, 1)
            if number % 2 == 0 {
              _ = unsafe unsetenv("XDG_RUNTIME_DIR")
            } else {
              Self.inRuntimeDirectory(runtime)
            }
            let store = SecretServiceStore()
            precondition(store.traits.excludesOtherProcesses)
            let name = try ItemName("item", in: "service")
            let add = {
              let found = Int(try String(contentsOfFile: count, encoding: .utf8)) ?? -1
              try "\(found + 1)".write(toFile: count, atomically: true, encoding: .utf8)
            }
            for _ in 0..<25 {
              try store.withExclusiveAccess(to: name, timeout: .seconds(60)) { try add() }
              try await store.withExclusiveAccess(to: name, timeout: .seconds(60)) {
                () async throws in try add()
              }
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try String(contentsOfFile: bus["count"], encoding: .utf8) == "200")
    #expect(keyring.isRunning)
  }

  @Test func `a waiter on the bus that waits too long or is cancelled leaves the queue`()
    async throws
  {
    let bus = try await PrivateBus()
    let (store, other) = (bus.store(), bus.store())
    let name = try ItemName("item", in: "a")
    try await store.withExclusiveAccess(to: name, timeout: .seconds(60)) {
      let late = await failure {
        try await other.withExclusiveAccess(to: name, timeout: .milliseconds(50)) { () async in
          Room.mustBeEmpty()
        }
      }
      #expect(late == StoreError.timedOut)
      let lateThread = await failure {
        try await onThread {
          try other.withExclusiveAccess(to: name, timeout: .milliseconds(50)) { Room.mustBeEmpty() }
        }
      }
      #expect(lateThread == StoreError.timedOut)
      let task = Task {
        try await other.withExclusiveAccess(to: name, timeout: .seconds(600)) { () async in
          Room.mustBeEmpty()
        }
      }
      task.cancel()
      #expect(await failure { try await task.value } == StoreError.cancelled)
      // Another name is free.
      try await other.withExclusiveAccess(to: ItemName("free", in: "a"), timeout: .zero) {
        () async in
      }
    }
    // None of them gets it later.
    try await bus.store().withExclusiveAccess(to: name, timeout: .zero) { () async in }
    // A cancelled closure gives it back.
    let cancelled = Task {
      try await store.withExclusiveAccess(to: name, timeout: .seconds(60)) {
        try await Task.sleep(for: .seconds(600))
      }
    }
    cancelled.cancel()
    _ = await cancelled.result
    try await other.withExclusiveAccess(to: name, timeout: .zero) { () async in }
  }

  @Test func `where the bus forbids names, a file is the lock and the traits say so`()
    async throws
  {
    let bus = try await PrivateBus(denying: "own_prefix=\"org.session_tools.Lock\"")
    let directory = try TemporaryDirectory()
    await #expect(processExitsWith: .success) {
      [path = directory.path as String, address = bus.address as String] in
      Self.inRuntimeDirectory(path)
      _ = unsafe setenv("DBUS_SESSION_BUS_ADDRESS", address, 1)
      let (store, other) = (SecretServiceStore(), SecretServiceStore())
      let name = try ItemName("item", in: "a")
      try await store.withExclusiveAccess(to: name, timeout: .zero) {
        let late = await failure {
          try await other.withExclusiveAccess(to: name, timeout: .milliseconds(50)) { () async in
            Room.mustBeEmpty()
          }
        }
        precondition(late == StoreError.timedOut)
      }
      precondition(!store.traits.excludesOtherProcesses)
    }
    #expect(FileManager.default.fileExists(atPath: directory["session-tools/lock"]))
  }

  /// One without `XDG_RUNTIME_DIR`.
  @Test func `two processes that make a key at the same time make one`() async throws {
    let bus = try await PrivateBus()
    let keyring = try await GnomeKeyring(on: bus)
    for round in 0..<15 {
      try await withThrowingTaskGroup { group in
        for isCron in [false, true] {
          group.addTask { [address = bus.address, path = bus["store"], runtime = bus["runtime"]] in
            await #expect(processExitsWith: .success) {
              [
                address = address as String, path = path as String, runtime = runtime as String,
                round = round as Int, isCron = isCron as Bool
              ] in
              _ = unsafe setenv("DBUS_SESSION_BUS_ADDRESS", address, 1)
              if isCron {
                _ = unsafe unsetenv("XDG_RUNTIME_DIR")
              } else {
                Self.inRuntimeDirectory(runtime)
              }
              let key = SecretServiceKey("k\(round)", makeIfAbsent: true)
              _ = try SealedFileStore.create(at: "\(path)-\(round)-\(isCron)", key: key)
            }
          }
        }
        try await group.waitForAll()
      }
      for isCron in [false, true] {
        let key = SecretServiceKey("k\(round)", isMadeIfAbsent: false, store: bus.store())
        _ = try await onThread {
          try SealedFileStore.open(at: bus["store-\(round)-\(isCron)"], key: key)
        }
      }
    }
    #expect(keyring.isRunning)
  }

  @Test func `a waiter that waits too long or is cancelled does not get the name`() async throws {
    let directory = try TemporaryDirectory()
    await #expect(processExitsWith: .success) { [path = directory.path as String] in
      Self.inRuntimeDirectory(path)
      let (store, other) = (SecretServiceStore(), SecretServiceStore())
      let (name, free) = (try ItemName("item", in: "a"), try ItemName("free", in: "a"))
      try await store.withExclusiveAccess(to: name, timeout: .seconds(60)) {
        for waiting in [store, other] {
          let late = await failure {
            try await waiting.withExclusiveAccess(to: name, timeout: .milliseconds(50)) {
              () async in Room.mustBeEmpty()
            }
          }
          precondition(late == StoreError.timedOut)
          let lateThread = await failure {
            try await onThread {
              try waiting.withExclusiveAccess(to: name, timeout: .milliseconds(50)) {
                Room.mustBeEmpty()
              }
            }
          }
          precondition(lateThread == StoreError.timedOut)
          let task = Task {
            try await waiting.withExclusiveAccess(to: name, timeout: .seconds(600)) {
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
      try await other.withExclusiveAccess(to: name, timeout: .zero) { () async in }
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
      let name = try ItemName("item", in: "service")
      let code = await failure {
        try await SecretServiceStore().withExclusiveAccess(to: name, timeout: .zero) { () async in }
      }
      precondition(code == StoreError.unsafePermissions)
    }
  }
}
