import SessionToolsBase

private let reporting = """
  changes() reports the names that change from now on, whichever object changes them.
  """
private let streams = "Each call gives a stream of its own."
private let ending = "A stream ends when its task is cancelled or the store goes away."

extension StoreConformance {
  static let streamChecks = [
    Check("a put is reported", reporting) { store in
      let name = try ItemName("item", in: "conformance")
      let log = EventLog(store.store.changes())
      for number in 1...3 {
        try await store.expectReport([name], to: log, "a put") {
          try await store.put(Sample("number \(number)"), for: name)
        }
      }
    },
    Check("a removal is reported", reporting) { store in
      let name = try ItemName("item", in: "conformance")
      let log = EventLog(store.store.changes())
      for _ in 1...3 {
        try await store.expectReport([name], to: log, "a put") {
          try await store.put(Sample("text"), for: name)
        }
        try await store.expectReport([name], to: log, "a removal") {
          try await store.remove(name)
        }
      }
    },
    Check("every item that a list changes is reported", reporting) { store in
      let names = try (0..<8).map { try ItemName("\($0)", in: "conformance") }
      let log = EventLog(store.store.changes())
      for round in 1...2 {
        let (first, second) = (Sample("first \(round)"), Sample("second \(round)"))
        try await store.expectReport(names, to: log, "a list of puts") {
          try await store.apply(names.map { .put(first.bytes, for: $0) })
        }
        try await store.expectReport(names, to: log, "a list of puts and removals") {
          try await store.apply(
            names.enumerated().map { number, name in
              number.isMultiple(of: 2) ? .remove(name) : .put(second.bytes, for: name)
            })
        }
      }
    },
    Check("only changes are reported", reporting) { store in
      let names = try ["first", "last"].map { try ItemName($0, in: "conformance") }
      try await store.put(Sample("text"), for: ItemName("before", in: "elsewhere"))
      let log = EventLog(store.store.changes())
      var reported: [StoreEvent] = []
      for number in 1...3 {
        try await store.apply([])
        _ = try await store.value(for: names[0])
        for name in names { try await store.put(Sample("number \(number)"), for: name) }
        try await store.wait(until: "a put to be reported") {
          let events = log.take()
          reported += events
          return events.contains { $0.concerns(names[1]) }
        }
      }
      // A change from before the stream was made may be reported late.
      let possible = Set(names + [try ItemName("before", in: "elsewhere")])
      for case .changed(let changed) in reported {
        try expect(
          !changed.isEmpty && changed.isSubset(of: possible),
          "only names that changed to be reported",
          seen: changed.isEmpty ? "an event without names" : "other names")
      }
    },
    Check("a stream of some names has their changes and no others", reporting) { store in
      let names = try (0..<3).map { try ItemName("\($0)", in: "conformance") }
      let heard = [names[0], names[2]]
      let log = EventLog(store.store.changes(of: Set(heard)))
      var reported: [StoreEvent] = []
      for number in 1...2 {
        for name in [names[1]] + heard {
          try await store.put(Sample("number \(number)"), for: name)
        }
        try await store.wait(until: "a put to be reported") {
          let events = log.take()
          reported += events
          return events.contains { $0.concerns(names[2]) }
        }
      }
      for case .changed(let changed) in reported {
        try expect(
          !changed.isEmpty && changed.isSubset(of: heard), "only the names that were asked for",
          seen: changed.isEmpty ? "an event without names" : "other names")
      }
    },
    Check("every listener is notified", streams) { store in
      let name = try ItemName("item", in: "conformance")
      let logs = (1...3).map { _ in EventLog(store.store.changes()) }
      for round in 1...2 {
        for log in logs { _ = log.take() }
        try await store.put(Sample("round \(round)"), for: name)
        for (number, log) in logs.enumerated() {
          try await store.wait(until: "listener \(number + 1) of 3 to be notified") {
            log.take().contains { $0.concerns(name) }
          }
        }
      }
    },
    Check("a listener that reads late misses nothing", reporting) { store in
      let names = try (0..<64).map { try ItemName("\($0)", in: "conformance") }
      let stream = store.store.changes()
      for name in names { try await store.put(Sample("text"), for: name) }
      let log = EventLog(stream)
      try await store.expectReport(names, to: log, "64 puts, read late,") {}
    },
    Check("a stream ends when its task is cancelled", ending, kinds: [nil]) { store in
      let name = try ItemName("item", in: "conformance")
      let log = EventLog(store.store.changes())
      try await store.expectReport([name], to: log, "a put") {
        try await store.put(Sample("text"), for: name)
      }
      log.stop()
      try await store.wait(until: "the stream of a cancelled task to end") { log.isEnded }
    },
    Check("other listeners are notified after one was cancelled", streams, kinds: [nil]) { store in
      let name = try ItemName("item", in: "conformance")
      let (first, second) = (EventLog(store.store.changes()), EventLog(store.store.changes()))
      first.stop()
      try await store.wait(until: "the stream of a cancelled task to end") { first.isEnded }
      for number in 1...2 {
        try await store.expectReport([name], to: second, "a put") {
          try await store.put(Sample("number \(number)"), for: name)
        }
      }
      let third = EventLog(store.store.changes())
      try await store.expectReport([name], to: third, "a put after that") {
        try await store.put(Sample("text"), for: name)
      }
    },
    Check(
      "a stream ends with its store", ending, kinds: [nil],
      trial: { trial in
        var store: StoreProbe? = try await trial.open()
        var log: EventLog<StoreEvent>?
        if let store {
          log = EventLog(store.store.changes())
          try await store.put(Sample("text"), for: ItemName("item", in: "conformance"))
        }
        store = nil
        try await trial.patience.wait(
          until: "the stream to end when the last reference to the store is gone",
          seen: { "that it continues, or that there is another reference" }
        ) { log?.isEnded == true }
      }),
    Check(
      "changes by another object are reported", reporting, [.reopening, .seesOtherProcesses]
    ) { store in
      let name = try ItemName("item", in: "conformance")
      let log = EventLog(store.store.changes())
      let other = try await store.reopened()
      for _ in 1...3 {
        try await store.expectReport([name], to: log, "a put of another object") {
          try await other.put(Sample("text"), for: name)
        }
        try await store.expectReport([name], to: log, "a removal of another object") {
          try await other.remove(name)
        }
      }
    },
  ]
}

extension StoreProbe {
  /// Expects that a change of some names is reported, in any number of events.
  func expectReport(
    _ names: [ItemName], to log: EventLog<StoreEvent>, _ what: String,
    _ change: () async throws -> Void
  ) async throws {
    var left = Set(names)
    try await change()
    try await wait(
      until: "\(what) to be reported", seen: { "no event for \(left.sorted().described)" }
    ) {
      for event in log.take() { left = left.filter { !event.concerns($0) } }
      return left.isEmpty
    }
  }
}
