import SessionToolsBase

private let reporting = "itemChanges delivers an element each time the item may have changed."
private let kinds = "Every operation exists blocking and async, and both do the same."

extension ContainerConformance {
  static let observableChecks = [
    Check(
      "the newer calls read what the older calls store",
      "loadItem returns nil if there is no item, and for no other reason.", [.observable]
    ) { container in
      let newer = try container.observable()
      try await newer.expectItem(nil, "in an empty container")
      try await container.storeItem(.first, "user")
      try await newer.expectItem(.first, "after it was stored")
      try await container.removeItem("user")
      try await newer.expectItem(nil, "after it was removed")
    },
    Check("the older calls see what async calls store and remove", kinds, [.observable]) {
      container in
      let newer = try container.observable()
      try await newer.store(.first, "user", by: .async)
      try await container.expectItem(.first, "after an async call stored it")
      try await newer.store(.second, "user", by: .async)
      try await container.expectItem(.second, "after an async call replaced it")
      try await newer.remove("user", by: .async)
      try await container.expectItem(nil, "after an async call removed it")
      try await newer.remove("user", by: .async)
    },
    Check("storing an item is reported", reporting, [.observable]) { container in
      let newer = try container.observable()
      let log = EventLog(newer.changes("user"))
      for kind in CallKind.allCases {
        for item in [SampleItem.first, .second] {
          try await container.expectReport(to: log, "an item that \(kind) calls stored") {
            try await newer.store(item, "user", by: kind)
          }
        }
      }
    },
    Check("removing an item is reported", reporting, [.observable]) { container in
      let newer = try container.observable()
      let log = EventLog(newer.changes("user"))
      for kind in CallKind.allCases {
        try await container.expectReport(to: log, "an item that was stored") {
          try await newer.store(.first, "user", by: kind)
        }
        try await container.expectReport(to: log, "an item that \(kind) calls removed") {
          try await newer.remove("user", by: kind)
        }
      }
    },
    Check("every listener is notified", "Each call gives a stream of its own.", [.observable]) {
      container in
      let newer = try container.observable()
      let logs = (1...3).map { _ in EventLog(newer.changes("user")) }
      for _ in 1...2 {
        for log in logs { _ = log.take() }
        try await newer.store(.first, "user", by: .async)
        for (number, log) in logs.enumerated() {
          try await container.patience.wait(
            until: "listener \(number + 1) of 3 to be notified"
          ) { !log.take().isEmpty }
        }
      }
    },
    Check(
      "changes that are read late are reported",
      "Changes that come faster than they are read are reported once.", [.observable]
    ) { container in
      let newer = try container.observable()
      let stream = newer.changes("user")
      for number in 0..<20 {
        try await newer.store(number.isMultiple(of: 2) ? .first : .second, "user", by: .async)
      }
      let log = EventLog(stream)
      try await container.patience.wait(until: "20 changes, read late, to be reported") {
        !log.take().isEmpty
      }
    },
    Check(
      "a stream ends when its task is cancelled", "A stream ends with its task.", [.observable]
    ) { container in
      let newer = try container.observable()
      let (cancelled, other) = (EventLog(newer.changes("user")), EventLog(newer.changes("user")))
      try await container.expectReport(to: cancelled, "an item") {
        try await newer.store(.first, "user", by: .async)
      }
      cancelled.stop()
      try await container.patience.wait(until: "the stream of a cancelled task to end") {
        cancelled.isEnded
      }
      try await container.expectReport(to: other, "an item, after another listener was cancelled") {
        try await newer.store(.second, "user", by: .async)
      }
    },
    Check(
      "changes by another container are reported", "\(reporting) Changes by others are included.",
      [.observable, .reopening]
    ) { container in
      let newer = try container.observable()
      let log = EventLog(newer.changes("user"))
      let other = try await container.reopened()
      try await container.expectReport(to: log, "an item that another container stored") {
        try await other.storeItem(.first, "user")
      }
      try await newer.expectItem(.first, "after another container stored it")
      try await container.expectReport(to: log, "an item that another container removed") {
        try await other.removeItem("user")
      }
      try await newer.expectItem(nil, "after another container removed it")
    },
    Check(
      "eight tasks that use a container lose nothing",
      "The container may be used by any number of tasks and threads.", [.observable]
    ) { container in
      let newer = try container.observable()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for worker in 0..<8 {
          group.addTask { try await newer.work(as: worker) }
        }
        try await group.waitForAll()
      }
      for worker in 0..<8 {
        try await newer.expectItem(.second, of: "\(worker) kept", "after eight used the container")
        try await newer.expectItem(nil, of: "\(worker) removed", "after eight used the container")
      }
    },
  ]
}

extension ContainerProbe {
  /// Expects that a change is reported.
  fileprivate func expectReport(
    to log: EventLog<Void>, _ what: String, _ change: () async throws -> Void
  ) async throws {
    _ = log.take()
    try await change()
    try await patience.wait(until: "\(what) to be reported") { !log.take().isEmpty }
  }
}

extension ObservableProbe {
  fileprivate func work(as worker: Int) async throws {
    let kind: CallKind = worker.isMultiple(of: 2) ? .blocking : .async
    for item in [SampleItem.first, .second, .first, .second] {
      for identifier in ["\(worker) kept", "\(worker) removed"] {
        try await store(item, identifier, by: kind)
        let found = try await load(identifier, by: kind)
        try expect(
          found == item, "\(item.described), right after \(kind) calls stored it",
          seen: found.described)
      }
    }
    try await remove("\(worker) removed", by: kind)
  }
}
