import SessionToolsBase

private let absence = """
  nil means that the store is open and the item is absent, and nothing else.
  """
private let reading = "Reads change nothing, create nothing and show no prompt."
private let bytes = "A store keeps bytes: what was put is read, byte for byte."
private let limit = """
  A value above maximumValueByteCount is refused with valueTooLarge before anything is changed; \
  any other value is taken.
  """

extension StoreConformance {
  static let valueChecks = [
    Check("an absent item reads as nil", absence) { store in
      let name = try ItemName("item", in: "conformance")
      try await store.expectValue(nil, for: name, "in an empty store")
      try await store.put(Sample("other"), for: ItemName("other", in: "conformance"))
      try await store.expectValue(nil, for: name, "beside another item")
    },
    Check("reading an absent item does not create it", reading) { store in
      let name = try ItemName("item", in: "conformance")
      for _ in 1...2 {
        _ = try await store.value(for: name)
        _ = try await store.contains(name)
        _ = try await store.names(in: "conformance")
      }
      try await store.expectNames([])
    },
    Check("reading an item leaves it as it is", reading) { store in
      let (name, sample) = (try ItemName("item", in: "conformance"), Sample("text"))
      try await store.put(sample, for: name)
      for time in ["at first", "again", "a third time"] {
        try await store.expectValue(sample, for: name, "read \(time)")
      }
      try await store.expectNames([name])
    },
    Check("a short text comes back", bytes) { try await $0.expectRoundTrip(of: Sample("text")) },
    Check(
      "an empty value is a value, and not an absent item", "\(absence) An empty value is a value."
    ) { store in
      let (name, empty) = (try ItemName("item", in: "conformance"), Sample("empty", []))
      try await store.put(empty, for: name)
      try await store.expectValue(empty, for: name, "after it was put")
      let isThere = try await store.contains(name)
      try expect(isThere, "contains to be true for the item", seen: "false")
      try await store.expectNames([name])
    },
    Check("NUL bytes come back", bytes) { store in
      for value in [[0], [0, 0, 0], Array("\0a".utf8), Array("a\0b".utf8), Array("a\0".utf8)] {
        try await store.expectRoundTrip(of: Sample("with NUL", value))
      }
    },
    Check("newlines and spaces come back", bytes) { store in
      for text in ["\n", "\r\n", " ", "\t", " a ", "\na\n", "a\r\n", "a\n\n", "\r"] {
        try await store.expectRoundTrip(of: Sample("with white space", text.utf8))
      }
    },
    Check("all 256 bytes come back", bytes) { store in
      try await store.expectRoundTrip(of: Sample("every byte", Array(0...255)))
      try await store.expectRoundTrip(of: Sample("every byte, backwards", (0...255).reversed()))
    },
    Check("bytes that are not UTF-8 come back", bytes) { store in
      for value in [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0x61, 0x80], [0xf8, 0x88, 0x80]] {
        try await store.expectRoundTrip(of: Sample("not UTF-8", value.map { UInt8($0) }))
      }
    },
    Check("text of any script comes back", bytes) { store in
      for text in ["\u{e9}", "e\u{301}", "👩‍👩‍👧‍👦", "\u{feff}a", "日本語", "\u{202e}abc"] {
        try await store.expectRoundTrip(of: Sample("text", text.utf8))
      }
    },
    Check("values around the sizes of buffers come back", bytes) { store in
      for byteCount in [127, 128, 255, 256, 4095, 4096, 4097] {
        try await store.expectRoundTrip(of: Sample(byteCount: byteCount))
      }
    },
    Check("64 KiB come back", bytes) { store in
      for byteCount in [65_535, 65_536, 65_537] {
        try await store.expectRoundTrip(of: Sample(byteCount: byteCount))
      }
    },
    Check("a value of the largest size comes back", limit, [.limitedValues]) { store in
      try await store.expectRoundTrip(
        of: Sample(byteCount: store.store.traits.maximumValueByteCount))
    },
    Check("a value that is too large is refused", limit, [.limitedValues]) { store in
      let (name, sample) = (try ItemName("item", in: "conformance"), Sample("text"))
      let large = Sample(byteCount: store.store.traits.maximumValueByteCount + 1)
      try await store.expectError(StoreError.valueTooLarge, from: "a value that is too large") {
        try await store.put(large, for: name)
      }
      try await store.expectNames([])
      try await store.put(sample, for: name)
      try await store.expectError(StoreError.valueTooLarge, from: "a value that is too large") {
        try await store.put(large, for: name)
      }
      try await store.expectValue(sample, for: name, "after a larger one was refused")
    },
    Check("a list with a value that is too large changes nothing", limit, [.limitedValues]) {
      store in
      let names = try ["put", "replaced", "removed", "large"].map {
        try ItemName($0, in: "conformance")
      }
      let (old, new) = (Sample("old"), Sample("new"))
      try await store.put(old, for: names[1])
      try await store.put(old, for: names[2])
      let large = Sample(byteCount: store.store.traits.maximumValueByteCount + 1)
      try await store.expectError(StoreError.valueTooLarge, from: "a list with such a value") {
        try await store.apply([
          .put(new.bytes, for: names[0]), .put(new.bytes, for: names[1]), .remove(names[2]),
          .put(large.bytes, for: names[3]),
        ])
      }
      try await store.expectNames([names[1], names[2]])
      try await store.expectValue(old, for: names[1], among: [new], "after the list was refused")
      try await store.expectValue(old, for: names[2], among: [new], "after the list was refused")
    },
  ]
}
