import SessionToolsBase

private let listing = "names returns those of one namespace, or all when nil, in ascending order."

extension StoreConformance {
  static let listingChecks = [
    Check("an empty store lists no names", listing) { store in
      try await store.expectNames([])
      try await store.expectNames([], in: "conformance")
    },
    Check("all names are listed in ascending order", listing) { store in
      var names: [ItemName] = []
      for service in ["b", "a", "B", "ab"] {
        for identifier in ["2", "10", "1", "a", "Z"] {
          names.append(try ItemName(identifier, in: StoreNamespace(service: service)))
        }
      }
      names.append(try ItemName("0", in: StoreNamespace(service: "a", accessGroup: "g")))
      for name in names.shuffled() { try await store.put(Sample("text"), for: name) }
      try await store.expectNames(names)
    },
    Check("the names of one namespace are listed in ascending order", listing) { store in
      let names = try ["é", "b", "a", "C", "10", "2", "\u{1f600}", "~"].map {
        try ItemName($0, in: "conformance")
      }
      for name in names { try await store.put(Sample("text"), for: name) }
      try await store.put(Sample("text"), for: ItemName("aa", in: "elsewhere"))
      try await store.expectNames(names, in: "conformance")
    },
    Check("a name is listed once, however often it was put", listing) { store in
      let name = try ItemName("item", in: "conformance")
      for number in 1...5 { try await store.put(Sample("number \(number)"), for: name) }
      try await store.put(Sample(byteCount: 40_000), for: name)
      try await store.expectNames([name])
      try await store.expectNames([name], in: "conformance")
    },
    Check("a removed name is not listed", listing) { store in
      let names = try ["a", "b", "c"].map { try ItemName($0, in: "conformance") }
      for name in names { try await store.put(Sample("text"), for: name) }
      try await store.remove(names[1])
      try await store.expectNames([names[0], names[2]])
      try await store.expectNames([names[0], names[2]], in: "conformance")
    },
  ]
}
