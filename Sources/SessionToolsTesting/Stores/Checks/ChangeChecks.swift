import SessionToolsBase

private let putting = "A put stores a value and replaces an older one."
private let removing = """
  A removal removes the item if there is one; removing an absent item is not an error.
  """
private let reporting = "contains returns whether there is an item, or throws if that is unknown."

extension StoreConformance {
  static let changeChecks = [
    Check("a value replaces an older one", putting) { store in
      let name = try ItemName("item", in: "conformance")
      let samples = [
        Sample("first"), Sample("second"), Sample(byteCount: 40_000), Sample("s"),
        Sample("empty", []), Sample("first"),
      ]
      for sample in samples {
        try await store.put(sample, for: name)
        try await store.expectValue(sample, for: name, among: samples, "after it was put")
        try await store.expectNames([name])
      }
    },
    Check("a change leaves other items as they are", putting) { store in
      let names = try ["item", "it", "item2", "other"].map { try ItemName($0, in: "conformance") }
      let moved = names[0].moved(to: "elsewhere")
      let (sample, other) = (Sample("kept"), Sample("changed"))
      for name in names + [moved] { try await store.put(sample, for: name) }
      try await store.put(other, for: names[0])
      for name in names.dropFirst() + [moved] {
        try await store.expectValue(sample, for: name, among: [other], "beside one that was put")
      }
      try await store.remove(names[0])
      for name in names.dropFirst() + [moved] {
        try await store.expectValue(
          sample, for: name, among: [other], "beside one that was removed")
      }
    },
    Check("a removed item is absent", removing) { store in
      let (name, sample) = (try ItemName("item", in: "conformance"), Sample("text"))
      try await store.put(sample, for: name)
      try await store.remove(name)
      try await store.expectValue(nil, for: name, among: [sample], "after it was removed")
      try await store.expectNames([])
    },
    Check("removing an absent item is not an error and changes nothing", removing) { store in
      let (name, other) = (
        try ItemName("item", in: "conformance"), try ItemName("other", in: "conformance")
      )
      try await store.remove(name)
      try await store.expectNames([])
      try await store.put(Sample("kept"), for: other)
      try await store.remove(name)
      try await store.remove(name)
      try await store.expectNames([other])
    },
    Check("an item can be put again after it was removed", removing) { store in
      let (name, first, second) = (
        try ItemName("item", in: "conformance"), Sample("first"), Sample("second")
      )
      for sample in [first, second, first] {
        try await store.put(sample, for: name)
        try await store.expectValue(
          sample, for: name, among: [first, second], "after it was put again")
        try await store.remove(name)
      }
      try await store.expectValue(nil, for: name, among: [first, second], "after it was removed")
    },
    Check("contains reports whether an item is there", reporting) { store in
      let name = try ItemName("item", in: "conformance")
      func expectContains(_ expected: Bool, _ when: String) async throws {
        let found = try await store.contains(name)
        try expect(found == expected, "contains to be \(expected) \(when)", seen: "\(found)")
      }
      try await expectContains(false, "in an empty store")
      try await store.put(Sample("text"), for: name)
      try await expectContains(true, "after the item was put")
      let inOther = try await store.contains(name.moved(to: "elsewhere"))
      try expect(!inOther, "contains to be false in another namespace", seen: "true")
      try await store.remove(name)
      try await expectContains(false, "after the item was removed")
    },
  ]
}
