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
      let key = try StoreKey("item", in: "conformance")
      let samples = (1...8).map { Sample(byteCount: 1 + $0 * $0 * 64) }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for sample in samples {
          group.addTask {
            for _ in 0..<4 {
              try await store.put(sample, for: key)
              let found = try await store.value(for: key)
              try expect(
                found.map { found in samples.contains { $0.bytes == found } } ?? false,
                "one of the values that are put", seen: found.told(among: samples))
            }
          }
        }
        try await group.waitForAll()
      }
      try await store.expectKeys([key])
    },
    Check("lists that are made at the same time do not mix", sharing, [.atomicity]) { store in
      let keys = try (0..<4).map { try StoreKey("\($0)", in: "conformance") }
      let samples = (1...8).map { Sample("number \($0)") }
      for _ in 1...4 {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for sample in samples {
            group.addTask {
              try await store.apply(keys.map { .put(sample.bytes, for: $0) })
            }
          }
          try await group.waitForAll()
        }
        let first = try await store.value(for: keys[0])
        for key in keys.dropFirst() {
          let found = try await store.value(for: key)
          try expect(
            found != nil && found == first,
            "the values of one list: \(first.told(among: samples)) for every item",
            seen: found.told(among: samples))
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
    var left: [StoreKey] = []
    for worker in workers {
      for (number, sample) in Self.left.enumerated() {
        let key = try Self.key(number, of: worker)
        let expected = sample.map { Self.sample(round: $0, of: worker) }
        try await expectValue(expected, for: key, "after eight changed the store")
        if expected != nil { left.append(key) }
      }
    }
    try await expectKeys(left)
  }

  private static let rounds = 0..<9
  /// The round whose value each item of a worker has at the end; `nil` for a removed item.
  private static let left: [Int?] = [6, 7, nil]

  private static func key(_ number: Int, of worker: Int) throws -> StoreKey {
    try StoreKey("\(worker) \(number)", in: "conformance")
  }

  private static func sample(round: Int, of worker: Int) -> Sample {
    Sample("round \(round) of \(worker)")
  }

  private func work(as worker: Int) async throws {
    for round in Self.rounds {
      let key = try Self.key(round % 3, of: worker)
      let sample = Self.sample(round: round, of: worker)
      try await put(sample, for: key)
      try await expectValue(sample, for: key, "right after it was put")
      if round == Self.rounds.upperBound - 1 { try await remove(key) }
    }
  }
}
