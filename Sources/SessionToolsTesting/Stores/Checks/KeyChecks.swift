import SessionToolsBase

private let listing = "keys returns those of one namespace, or all when nil, in ascending order."

extension StoreConformance {
  static let keyChecks = [
    Check("an empty store lists no keys", listing) { store in
      try await store.expectKeys([])
      try await store.expectKeys([], in: "conformance")
    },
    Check("all keys are listed in ascending order", listing) { store in
      var keys: [StoreKey] = []
      for service in ["b", "a", "B", "ab"] {
        for identifier in ["2", "10", "1", "a", "Z"] {
          keys.append(try StoreKey(identifier, in: StoreNamespace(service: service)))
        }
      }
      keys.append(try StoreKey("0", in: StoreNamespace(service: "a", accessGroup: "g")))
      for key in keys.shuffled() { try await store.put(Sample("text"), for: key) }
      try await store.expectKeys(keys)
    },
    Check("the keys of one namespace are listed in ascending order", listing) { store in
      let keys = try ["é", "b", "a", "C", "10", "2", "\u{1f600}", "~"].map {
        try StoreKey($0, in: "conformance")
      }
      for key in keys { try await store.put(Sample("text"), for: key) }
      try await store.put(Sample("text"), for: StoreKey("aa", in: "elsewhere"))
      try await store.expectKeys(keys, in: "conformance")
    },
    Check("a key is listed once, however often it was put", listing) { store in
      let key = try StoreKey("item", in: "conformance")
      for number in 1...5 { try await store.put(Sample("number \(number)"), for: key) }
      try await store.put(Sample(byteCount: 40_000), for: key)
      try await store.expectKeys([key])
      try await store.expectKeys([key], in: "conformance")
    },
    Check("a removed key is not listed", listing) { store in
      let keys = try ["a", "b", "c"].map { try StoreKey($0, in: "conformance") }
      for key in keys { try await store.put(Sample("text"), for: key) }
      try await store.remove(keys[1])
      try await store.expectKeys([keys[0], keys[2]])
      try await store.expectKeys([keys[0], keys[2]], in: "conformance")
    },
  ]
}
