import SessionToolsBase

private let sharing = """
  A store may be used by any number of tasks and threads at the same time: a change that returned \
  is there, and a value that is read is one that was put.
  """

extension StoreConformance {
  static let concurrencyChecks = [
    Check("eight tasks that change a store lose nothing", sharing) { store in
      try await store.expectNothingLost(by: [store])
    },
    Check("eight tasks that make both kinds of calls lose nothing", sharing, kinds: [nil]) {
      store in
      try await store.expectNothingLost(by: [store, store.byOtherKind])
    },
    Check("one of several values put at the same time stays complete", sharing) { store in
      let name = try ItemName("item", in: "conformance")
      let samples = (1...8).map { Sample(byteCount: 1 + $0 * $0 * 64) }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for sample in samples {
          group.addTask {
            for _ in 0..<4 {
              try await store.put(sample, for: name)
              let found = try await store.value(for: name)
              try expect(
                found.map { found in samples.contains { $0.bytes == found } } ?? false,
                "one of the values that are put", seen: found.described(among: samples))
            }
          }
        }
        try await group.waitForAll()
      }
      try await store.expectNames([name])
    },
    Check("lists that are made at the same time do not mix", sharing, [.atomicity]) { store in
      let names = try (0..<4).map { try ItemName("\($0)", in: "conformance") }
      let samples = (1...8).map { Sample("number \($0)") }
      for _ in 1...4 {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for sample in samples {
            group.addTask {
              try await store.apply(names.map { .put(sample.bytes, for: $0) })
            }
          }
          try await group.waitForAll()
        }
        let first = try await store.value(for: names[0])
        for name in names.dropFirst() {
          let found = try await store.value(for: name)
          try expect(
            found != nil && found == first,
            "the values of one list: \(first.described(among: samples)) for every item",
            seen: found.described(among: samples))
        }
      }
    },
  ]
}

extension StoreProbe {
  /// Expects that eight tasks that change items of their own find them as they left them.
  func expectNothingLost(by probes: [StoreProbe]) async throws {
    let workers = 0..<8
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in workers {
        let probe = probes[worker % probes.count]
        group.addTask { try await probe.work(as: worker) }
      }
      try await group.waitForAll()
    }
    var left: [ItemName] = []
    for worker in workers {
      for (number, sample) in Self.left.enumerated() {
        let name = try Self.name(number, of: worker)
        let expected = sample.map { Self.sample(round: $0, of: worker) }
        try await expectValue(expected, for: name, "after eight changed the store")
        if expected != nil { left.append(name) }
      }
    }
    try await expectNames(left)
  }

  private static let rounds = 0..<9
  /// The round whose value each item of a worker has at the end; `nil` for a removed item.
  private static let left: [Int?] = [6, 7, nil]

  private static func name(_ number: Int, of worker: Int) throws -> ItemName {
    try ItemName("\(worker) \(number)", in: "conformance")
  }

  private static func sample(round: Int, of worker: Int) -> Sample {
    Sample("round \(round) of \(worker)")
  }

  private func work(as worker: Int) async throws {
    for round in Self.rounds {
      let name = try Self.name(round % 3, of: worker)
      let sample = Self.sample(round: round, of: worker)
      try await put(sample, for: name)
      try await expectValue(sample, for: name, "right after it was put")
      if round == Self.rounds.upperBound - 1 { try await remove(name) }
    }
  }
}
