import Foundation
import SessionToolsBase

private let exclusion = """
  Exclusive access excludes other tasks and threads that ask for the same name, whichever calls \
  they make.
  """
private let ending = "The access ends with the closure, and the closure's error is rethrown."
private let timeouts = """
  A caller that does not get the name in time gets timedOut; asking for the name again inside the \
  closure waits until the timeout.
  """
private let names = "Exclusive access to a name does not exclude callers that ask for another name."

extension StoreConformance {
  static let exclusiveAccessChecks = [
    Check(
      "exclusive access runs its closure once and returns its result", ending, kinds: [nil]
    ) { store in
      let (name, runs) = (try ItemName.fresh(), Shared(0))
      let ofTask = try await store.store.withExclusiveAccess(to: name, timeout: store.patience) {
        await Task.yield()
        runs.update { $0 += 1 }
        return "of a task"
      }
      let ofThread = try await onOwnThread { [store] in
        try store.store.withExclusiveAccess(to: name, timeout: store.patience) {
          runs.update { $0 += 1 }
          return "of a thread"
        }
      }
      try expect(
        ofTask == "of a task" && ofThread == "of a thread", "the closure's result", seen: "another")
      try expect(runs.current == 2, "two closures to be run once", seen: "\(runs.current) runs")
    },
    Check("a free name is given at once", timeouts) { store in
      let name = try ItemName.fresh()
      for timeout in [Duration.zero, .seconds(-5), .milliseconds(1), store.patience] {
        try await store.enter(name, timeout: timeout)
      }
    },
    Check("access ends with its closure", ending) { store in
      let name = try ItemName.fresh()
      try await store.enter(name, timeout: .zero)
      try await store.expectFree(name, "after \(store.kind) calls had it")
      let hold = try await store.hold(name)
      try await hold.end()
      try await store.expectFree(name, "after \(store.kind) calls had it for a while")
    },
    Check("access ends when its closure throws, and the error is rethrown", ending) { store in
      try await store.expectThrownErrors()
    },
    Check("a name that is held is refused until the timeout", timeouts) { store in
      let name = try ItemName.fresh()
      let hold = try await store.hold(name)
      for kind in CallKind.allCases {
        for timeout in [Duration.zero, .seconds(-5), .milliseconds(20)] {
          try await store.expectError(
            StoreError.timedOut, from: "\(kind) calls for a name that \(store.kind) calls hold"
          ) {
            try await store.enter(name, timeout: timeout, by: kind)
          }
        }
      }
      try await hold.end()
      try await store.expectFree(name, "after it was held and others were refused")
    },
    Check("asking again inside the closure waits until the timeout", timeouts, kinds: [nil]) {
      store in
      let name = try ItemName.fresh()
      for timeout in [Duration.zero, .milliseconds(20)] {
        try await store.expectError(StoreError.timedOut, from: "asking again in a task") {
          try await store.store.withExclusiveAccess(to: name, timeout: store.patience) {
            try await store.store.withExclusiveAccess(to: name, timeout: timeout) { () async in }
          }
        }
        try await store.expectError(StoreError.timedOut, from: "asking again in a thread") {
          try await onOwnThread { [store] in
            try store.store.withExclusiveAccess(to: name, timeout: store.patience) {
              try store.store.withExclusiveAccess(to: name, timeout: timeout) {}
            }
          }
        }
      }
      try await store.expectFree(name, "after it was asked for again inside")
    },
    Check("a waiter gets the name when it is free", timeouts) { store in
      let name = try ItemName.fresh()
      for kind in CallKind.allCases {
        let hold = try await store.hold(name)
        async let entered: Void = store.enter(name, timeout: store.patience, by: kind)
        // The other call most probably waits by then; if not, it must get the name all the same.
        try await Task.sleep(for: .milliseconds(100))
        try await hold.end()
        do {
          try await entered
        } catch {
          throw Finding(
            expected: "\(kind) calls to get the name that \(store.kind) calls held",
            seen: error.described, underlying: error)
        }
      }
    },
    Check("another name is free while one is held", names) { store in
      let name = try ItemName.fresh("\u{e9}")
      let others = [
        try ItemName("e\u{301}", in: name.namespace), try ItemName("item", in: name.namespace),
        name.moved(to: try StoreNamespace(service: name.namespace.service, accessGroup: "group")),
      ]
      let hold = try await store.hold(name)
      for other in others {
        for kind in CallKind.allCases {
          try await store.enter(other, timeout: store.patience / 4, by: kind)
        }
      }
      try await hold.end()
    },
    Check(
      "reads and changes continue while a name is held",
      "Exclusive access does not stop plain reads and changes."
    ) { store in
      let (name, sample) = (try ItemName.fresh(), Sample("text"))
      let hold = try await store.hold(name)
      let isDone = Shared(false)
      let work = Task {
        for store in [store, store.byOtherKind] {
          try await store.put(sample, for: name)
          try await store.expectValue(sample, for: name, "while the name is held")
          try await store.expectNames([name])
          try await store.remove(name)
        }
        isDone.update { $0 = true }
      }
      // The name is released whatever is found, so that a call that waits for it can end.
      let found = await Task {
        try await store.wait(until: "reads and changes to end while the name is held") {
          isDone.current
        }
      }.result
      try await hold.end()
      try await work.value
      try found.get()
    },
    Check(
      "a task that is cancelled while it waits does not get the name",
      "withExclusiveAccess throws cancelled when the task was cancelled while waiting."
    ) { store in
      let name = try ItemName.fresh()
      let hold = try await store.hold(name)
      for isLate in [false, true] {
        let waiting = Task { try await store.enter(name, timeout: store.patience, by: .async) }
        if isLate { try await Task.sleep(for: .milliseconds(50)) }
        waiting.cancel()
        try await store.expectError(StoreError.cancelled, from: "a cancelled task that waits") {
          try await waiting.value
        }
      }
      try await hold.end()
      try await store.expectFree(name, "after a task that waited for it was cancelled")
    },
    Check("callers that ask for one name take turns", exclusion, kinds: [nil]) {
      store in
      try await store.expectTurns(of: [store, store.byOtherKind])
    },
    Check(
      "another object does not get a name that is held",
      "Where excludesOtherProcesses holds, exclusive access excludes other processes.",
      [.reopening, .excludesOtherProcesses]
    ) { store in
      let (name, other) = (try ItemName.fresh(), try await store.reopened())
      for (holder, asking) in [(store, other), (other, store)] {
        let hold = try await holder.hold(name)
        for kind in CallKind.allCases {
          try await asking.expectError(
            StoreError.timedOut, from: "\(kind) calls for a name that another object holds"
          ) {
            try await asking.enter(name, timeout: .milliseconds(20), by: kind)
          }
        }
        try await hold.end()
        try await asking.expectFree(name, "after another object had it")
      }
    },
    Check(
      "objects that ask for one name take turns",
      "Where excludesOtherProcesses holds, exclusive access excludes other processes.",
      [.reopening, .excludesOtherProcesses], kinds: [nil]
    ) { store in
      let other = try await store.reopened()
      try await store.expectTurns(of: [store, other.byOtherKind, store.byOtherKind, other])
    },
  ]
}

private struct Thrown: Error {}

/// A room for one visitor, which records whether there was ever a second.
private final class Room: Sendable {
  private let state = Shared((count: 0, wasShared: false, visitCount: 0))

  var wasShared: Bool { state.current.wasShared }
  var visitCount: Int { state.current.visitCount }

  func enter() {
    state.update { state in
      state.count += 1
      state.visitCount += 1
      if state.count > 1 { state.wasShared = true }
    }
  }

  func leave() { state.update { $0.count -= 1 } }
}

extension StoreProbe {
  fileprivate func expectThrownErrors() async throws {
    let name = try ItemName.fresh()
    do {
      switch kind {
      case .blocking:
        try await onOwnThread { [store] in
          try store.withExclusiveAccess(to: name, timeout: .zero) { throw Thrown() }
        }
      case .async:
        try await store.withExclusiveAccess(to: name, timeout: .zero) { () async throws in
          throw Thrown()
        }
      }
      throw Finding(expected: "the closure's error", seen: "no error")
    } catch is Thrown {
      try await expectFree(name, "after its closure threw")
    }
  }

  /// Expects that only one of several callers, two for each probe, has a name at a time.
  fileprivate func expectTurns(of probes: [StoreProbe]) async throws {
    let (name, room, roundCount) = (try ItemName.fresh(), Room(), 8)
    let asking = probes + probes
    try await withThrowingTaskGroup(of: Void.self) { group in
      for probe in asking {
        group.addTask {
          for _ in 0..<roundCount { try await probe.visit(room, through: name) }
        }
      }
      try await group.waitForAll()
    }
    try expect(!room.wasShared, "one at a time to have the name", seen: "several at a time")
    try expect(
      room.visitCount == asking.count * roundCount, "every caller to get the name every time",
      seen: "\(room.visitCount) times of \(asking.count * roundCount)")
  }

  private func visit(_ room: Room, through name: ItemName) async throws {
    switch kind {
    case .blocking:
      try await onOwnThread { [store, patience] in
        try store.withExclusiveAccess(to: name, timeout: patience) {
          room.enter()
          Thread.sleep(forTimeInterval: 0.001)
          room.leave()
        }
      }
    case .async:
      try await store.withExclusiveAccess(to: name, timeout: patience) {
        room.enter()
        try await Task.sleep(for: .milliseconds(1))
        room.leave()
      }
    }
  }
}
