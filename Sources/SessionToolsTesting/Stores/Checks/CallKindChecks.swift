import SessionToolsBase

private let kinds = "Every operation exists blocking and async, and both do the same."

extension StoreConformance {
  static let callKindChecks = [
    Check("one kind of calls reads what the other puts", kinds) { store in
      let other = store.byOtherKind
      let name = try ItemName("item", in: "conformance")
      let (first, second) = (Sample("first"), Sample("second"))
      try await other.expectValue(nil, for: name, "before it is put")
      try await store.put(first, for: name)
      try await other.expectValue(first, for: name, "after \(store.kind) calls put it")
      try await other.expectNames([name])
      let isThere = try await other.contains(name)
      try expect(isThere, "contains to be true after \(store.kind) calls put it", seen: "false")
      try await store.put(second, for: name)
      try await other.expectValue(
        second, for: name, among: [first], "after \(store.kind) calls replaced it")
    },
    Check("one kind of calls does not find what the other removes", kinds) { store in
      let other = store.byOtherKind
      let (name, sample) = (try ItemName("item", in: "conformance"), Sample("text"))
      try await other.put(sample, for: name)
      try await other.expectValue(sample, for: name, "after it was put")
      try await store.remove(name)
      try await other.expectValue(
        nil, for: name, among: [sample], "after \(store.kind) calls removed it")
      try await other.expectNames([])
      let isThere = try await other.contains(name)
      try expect(
        !isThere, "contains to be false after \(store.kind) calls removed it", seen: "true")
    },
  ]
}
