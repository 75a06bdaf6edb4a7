import SessionToolsBase

private let refusing = """
  nil and false mean that the store is open and the item is absent: a locked store that cannot \
  tell throws locked.
  """
private let keeping = "No error ever removes an item."

extension StoreConformance {
  static let lockingChecks = [
    Check("a locked store never looks empty", refusing, [.locking]) { store in
      let names = try ["item", "absent"].map { try ItemName($0, in: "conformance") }
      try await store.put(Sample("text"), for: names[0])
      try await store.lock()
      for name in names {
        try await store.expectError(StoreError.locked, from: "value") {
          _ = try await store.value(for: name)
        }
      }
      try await store.expectError(StoreError.locked, from: "contains, of an absent item,") {
        _ = try await store.contains(names[1])
      }
      // Some stores can report that there is an item when they cannot read it.
      do {
        let isThere = try await store.contains(names[0])
        try expect(isThere, "contains to throw StoreError.locked, or to be true", seen: "false")
      } catch StoreError.locked {}
      for namespace in [nil, names[0].namespace] {
        try await store.expectError(StoreError.locked, from: "names") {
          _ = try await store.names(in: namespace)
        }
      }
    },
    Check(
      "a locked store refuses changes", "A locked store refuses changes with locked.", [.locking]
    ) { store in
      let names = try ["item", "new"].map { try ItemName($0, in: "conformance") }
      let (sample, other) = (Sample("kept"), Sample("refused"))
      try await store.put(sample, for: names[0])
      try await store.lock()
      for name in names {
        try await store.expectError(StoreError.locked, from: "a put") {
          try await store.put(other, for: name)
        }
      }
      try await store.expectError(StoreError.locked, from: "a removal") {
        try await store.remove(names[0])
      }
      try await store.unlock()
      try await store.expectValue(sample, for: names[0], among: [other], "after it was unlocked")
      try await store.expectNames([names[0]])
    },
    Check("unlocking makes everything readable again", keeping, [.locking]) { store in
      let (name, sample) = (try ItemName("item", in: "conformance"), Sample("text"))
      try await store.put(sample, for: name)
      for _ in 1...2 {
        try await store.lock()
        try await store.expectError(StoreError.locked, from: "value") {
          _ = try await store.value(for: name)
        }
        try await store.unlock()
        try await store.expectValue(sample, for: name, "after it was unlocked")
        try await store.expectNames([name])
      }
      try await store.remove(name)
      try await store.expectNames([])
    },
    Check(
      "unlocking is reported",
      "A stream reports resynchronize when anything may have changed, as after unlocking.",
      [.locking], kinds: [nil]
    ) { store in
      let (name, sample) = (try ItemName("item", in: "conformance"), Sample("text"))
      let log = EventLog(store.store.changes())
      try await store.expectReport([name], to: log, "a put") {
        try await store.put(sample, for: name)
      }
      for _ in 1...2 {
        try await store.lock()
        try await store.expectError(StoreError.locked, from: "value") {
          _ = try await store.value(for: name)
        }
        _ = log.take()
        try await store.unlock()
        try await store.wait(until: "resynchronize to be reported after the store was unlocked") {
          log.take().contains(.resynchronize)
        }
      }
      try await store.expectReport([name], to: log, "a put after the store was unlocked") {
        try await store.put(sample, for: name)
      }
    },
  ]
}
