import SessionToolsBase

private let order = "apply makes changes in the order given."
private let atomicity = """
  Where isAtomic holds, a list of changes is applied all or nothing: no reader ever sees a part.
  """

extension StoreConformance {
  static let listChecks = [
    Check("an empty list does nothing", "An empty list does nothing.") { store in
      let (name, sample) = (try ItemName("item", in: "conformance"), Sample("text"))
      try await store.apply([])
      try await store.expectNames([])
      try await store.put(sample, for: name)
      try await store.apply([])
      try await store.expectValue(sample, for: name, "after an empty list")
      try await store.expectNames([name])
    },
    Check("an item that a list puts and then removes is absent", order) { store in
      let (name, sample) = (try ItemName("item", in: "conformance"), Sample("text"))
      try await store.apply([.put(sample.bytes, for: name), .remove(name)])
      try await store.expectValue(nil, for: name, among: [sample], "after the list")
      try await store.expectNames([])
    },
    Check("an item that a list removes and then puts is there", order) { store in
      let name = try ItemName("item", in: "conformance")
      let (old, new) = (Sample("old"), Sample("new"))
      try await store.put(old, for: name)
      try await store.apply([.remove(name), .put(new.bytes, for: name)])
      try await store.expectValue(new, for: name, among: [old], "after the list")
      try await store.expectNames([name])
    },
    Check("the last value that a list puts under a name stays", order) { store in
      let name = try ItemName("item", in: "conformance")
      let samples = ["first", "second", "third"].map { Sample($0) }
      try await store.apply(samples.map { .put($0.bytes, for: name) })
      try await store.expectValue(samples[2], for: name, among: samples, "after the list")
      try await store.expectNames([name])
    },
    Check("a list may have many changes", order) { store in
      let names = try (0..<40).map { try ItemName("\($0)", in: "conformance") }
      let samples = names.indices.map { Sample("number \($0)") }
      try await store.apply(zip(names, samples).map { .put($1.bytes, for: $0) })
      try await store.expectNames(names)
      for (name, sample) in zip(names, samples) {
        try await store.expectValue(sample, for: name, among: samples, "after the list")
      }
      try await store.apply(names.dropFirst().map { .remove($0) })
      try await store.expectNames([names[0]])
    },
    Check(
      "a list as long as the traits promise is accepted",
      "A list within maximumChangeCount and maximumListByteCount is never refused for its size.",
      [.limitedLists]
    ) { store in
      let names = try (0..<store.store.traits.maximumChangeCount).map {
        try ItemName("\($0)", in: "conformance")
      }
      let value = Sample("text").bytes
      do {
        try await store.apply(names.map { .put(value, for: $0) })
      } catch StoreError.valueTooLarge {
        throw Finding(expected: "a change of \(names.count) items", seen: "valueTooLarge")
      }
    },
    Check("no reader sees a part of a list", atomicity, [.atomicity]) { store in
      try await store.expectWholeLists()
    },
  ]
}

extension StoreProbe {
  /// Expects that a concurrent reader sees no part of lists that put and remove two items.
  fileprivate func expectWholeLists() async throws {
    let names = try ["first", "second"].map { try ItemName($0, in: "conformance") }
    let sample = Sample("text")
    let isDone = Shared(false)
    async let seen = nameCounts(until: isDone)
    do {
      for _ in 0..<50 {
        try await apply(names.map { .put(sample.bytes, for: $0) })
        try await apply(names.map { .remove($0) })
      }
      isDone.update { $0 = true }
    } catch {
      isDone.update { $0 = true }
      throw error
    }
    let counts = try await seen
    try expect(
      counts.isSubset(of: [0, 2]), "both of two items or neither while lists change both",
      seen: "one of them")
  }

  /// Returns all numbers of items that were seen until the work was done.
  private func nameCounts(until isDone: Shared<Bool>) async throws -> Set<Int> {
    var counts: Set<Int> = []
    repeat {
      counts.insert(try await names(in: "conformance").count)
      await Task.yield()
    } while !isDone.current
    return counts
  }
}
