import SessionToolsBase

private let kinds = "Every operation exists blocking and async, and both do the same."

extension StoreConformance {
  static let callKindChecks = [
    Check("one kind of calls reads what the other puts", kinds) { store in
      let other = store.byOtherKind
      let key = try StoreKey("item", in: "conformance")
      let (first, second) = (Sample("first"), Sample("second"))
      try await other.expectValue(nil, for: key, "before it is put")
      try await store.put(first, for: key)
      try await other.expectValue(first, for: key, "after \(store.kind) calls put it")
      try await other.expectKeys([key])
      let isThere = try await other.contains(key)
      try expect(isThere, "contains to be true after \(store.kind) calls put it", seen: "false")
      try await store.put(second, for: key)
      try await other.expectValue(
        second, for: key, among: [first], "after \(store.kind) calls replaced it")
    },
    Check("one kind of calls does not find what the other removes", kinds) { store in
      let other = store.byOtherKind
      let (key, sample) = (try StoreKey("item", in: "conformance"), Sample("text"))
      try await other.put(sample, for: key)
      try await other.expectValue(sample, for: key, "after it was put")
      try await store.remove(key)
      try await other.expectValue(
        nil, for: key, among: [sample], "after \(store.kind) calls removed it")
      try await other.expectKeys([])
      let isThere = try await other.contains(key)
      try expect(
        !isThere, "contains to be false after \(store.kind) calls removed it", seen: "true")
    },
  ]
}
