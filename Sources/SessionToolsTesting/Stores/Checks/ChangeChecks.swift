import SessionToolsBase

private let putting = "A put stores a value and replaces an older one."
private let removing = """
  A removal removes the item if there is one; removing an absent item is not an error.
  """
private let telling = "contains returns whether there is an item, or throws if that is unknown."

extension StoreConformance {
  static let changeChecks = [
    Check("a value replaces an older one", putting) { store in
      let key = try StoreKey("item", in: "conformance")
      let samples = [
        Sample("first"), Sample("second"), Sample(byteCount: 40_000), Sample("s"),
        Sample("empty", []), Sample("first"),
      ]
      for sample in samples {
        try await store.put(sample, for: key)
        try await store.expectValue(sample, for: key, among: samples, "after it was put")
        try await store.expectKeys([key])
      }
    },
    Check("a change leaves other items as they are", putting) { store in
      let keys = try ["item", "it", "item2", "other"].map { try StoreKey($0, in: "conformance") }
      let moved = keys[0].moved(to: "elsewhere")
      let (sample, other) = (Sample("kept"), Sample("changed"))
      for key in keys + [moved] { try await store.put(sample, for: key) }
      try await store.put(other, for: keys[0])
      for key in keys.dropFirst() + [moved] {
        try await store.expectValue(sample, for: key, among: [other], "beside one that was put")
      }
      try await store.remove(keys[0])
      for key in keys.dropFirst() + [moved] {
        try await store.expectValue(sample, for: key, among: [other], "beside one that was removed")
      }
    },
    Check("a removed item is absent", removing) { store in
      let (key, sample) = (try StoreKey("item", in: "conformance"), Sample("text"))
      try await store.put(sample, for: key)
      try await store.remove(key)
      try await store.expectValue(nil, for: key, among: [sample], "after it was removed")
      try await store.expectKeys([])
    },
    Check("removing an absent item is not an error and changes nothing", removing) { store in
      let (key, other) = (
        try StoreKey("item", in: "conformance"), try StoreKey("other", in: "conformance")
      )
      try await store.remove(key)
      try await store.expectKeys([])
      try await store.put(Sample("kept"), for: other)
      try await store.remove(key)
      try await store.remove(key)
      try await store.expectKeys([other])
    },
    Check("an item can be put again after it was removed", removing) { store in
      let (key, first, second) = (
        try StoreKey("item", in: "conformance"), Sample("first"), Sample("second")
      )
      for sample in [first, second, first] {
        try await store.put(sample, for: key)
        try await store.expectValue(
          sample, for: key, among: [first, second], "after it was put again")
        try await store.remove(key)
      }
      try await store.expectValue(nil, for: key, among: [first, second], "after it was removed")
    },
    Check("contains reports whether an item is there", telling) { store in
      let key = try StoreKey("item", in: "conformance")
      func expectContains(_ expected: Bool, _ when: String) async throws {
        let found = try await store.contains(key)
        try expect(found == expected, "contains to be \(expected) \(when)", seen: "\(found)")
      }
      try await expectContains(false, "in an empty store")
      try await store.put(Sample("text"), for: key)
      try await expectContains(true, "after the item was put")
      let inOther = try await store.contains(key.moved(to: "elsewhere"))
      try expect(!inOther, "contains to be false in another namespace", seen: "true")
      try await store.remove(key)
      try await expectContains(false, "after the item was removed")
    },
  ]
}
