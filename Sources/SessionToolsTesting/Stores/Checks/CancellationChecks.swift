import SessionToolsBase

private let cancelling = """
  Once begun, a change is not undone by cancelling the task; cancelled means that nothing was \
  changed.
  """

extension StoreConformance {
  static let cancellationChecks = [
    Check(
      "a change of a cancelled task is made, or reports that it was not", cancelling, kinds: [nil]
    ) { store in
      for number in 0..<20 {
        let (name, sample) = (try ItemName("\(number)", in: "conformance"), Sample("text"))
        let outcome = await store.cancelled(at: number) { store in
          try await store.put(sample, for: name)
        }
        switch try outcome.meaning {
        case true?: try await store.expectValue(sample, for: name, "after a change that returned")
        case false?: try await store.expectValue(nil, for: name, among: [sample], "after cancelled")
        case nil: break
        }
      }
    },
    Check(
      "a list of a cancelled task is applied all or nothing", cancelling, [.atomicity],
      kinds: [nil]
    ) { store in
      for number in 0..<20 {
        let namespace = try StoreNamespace(service: "conformance \(number)")
        let names = try (0..<8).map { try ItemName("\($0)", in: namespace) }
        let sample = Sample("text")
        let outcome = await store.cancelled(at: number) { store in
          try await store.apply(names.map { .put(sample.bytes, for: $0) })
        }
        switch try outcome.meaning {
        case true?: try await store.expectNames(names, in: namespace)
        case false?: try await store.expectNames([], in: namespace)
        case nil:
          let count = try await store.names(in: namespace).count
          try expect(
            count == 0 || count == names.count, "all of a list or nothing", seen: "a part of it")
        }
      }
    },
    Check(
      "a cancelled task does not read an item as absent",
      "nil means that the store is open and the item is absent, and nothing else.", kinds: [nil]
    ) { store in
      let (name, sample) = (try ItemName("item", in: "conformance"), Sample("text"))
      try await store.put(sample, for: name)
      for number in 0..<8 {
        let outcome = await store.cancelled(at: number) { store in
          try await store.expectValue(sample, for: name, "in a cancelled task")
          let isThere = try await store.contains(name)
          try expect(isThere, "contains to be true in a cancelled task", seen: "false")
          try await store.expectNames([name])
        }
        _ = try outcome.meaning
      }
    },
  ]
}

extension Result<Void, any Error> {
  /// Whether the cancelled work was done; `nil` if the store reports that this is unknown.
  ///
  /// - Throws: An error that cancellation does not explain.
  fileprivate var meaning: Bool? {
    get throws {
      switch self {
      case .success: true
      case .failure(StoreError.cancelled): false
      case .failure(StoreError.outcomeUnknown): nil
      case .failure(let error as Finding): throw error
      case .failure(let error): throw Finding(expected: "success or cancelled", seen: error)
      }
    }
  }
}

extension StoreProbe {
  /// Runs a closure in a task that is cancelled before the closure begins, or some moments after.
  fileprivate func cancelled(
    at moment: Int, _ body: @escaping @Sendable (StoreProbe) async throws -> Void
  ) async -> Result<Void, any Error> {
    let isBefore = moment.isMultiple(of: 2)
    let task = Task {
      while isBefore, !Task.isCancelled { await Task.yield() }
      try await body(self)
    }
    if !isBefore {
      for _ in 0..<moment { await Task.yield() }
    }
    task.cancel()
    return await task.result
  }
}
