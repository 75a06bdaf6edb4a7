import SessionToolsBase

private let keeping = "When apply returned, the changes are there for every object of the data."
private let seeing = """
  Where seesOtherProcesses holds, changes made by other processes are read.
  """

extension StoreConformance {
  static let reopeningChecks = [
    Check("another object finds what was put", keeping, [.reopening]) { store in
      let keys = try ["a", "b", "e\u{301}"].map { try StoreKey($0, in: "conformance") }
      let samples = [Sample("text"), Sample("empty", []), Sample(byteCount: 70_000)]
      for (key, sample) in zip(keys, samples) {
        try await store.put(Sample("older"), for: key)
        try await store.put(sample, for: key)
      }
      let other = try await store.reopened()
      for (key, sample) in zip(keys, samples) {
        try await other.expectValue(sample, for: key, "by another object")
      }
      try await other.expectKeys(keys)
    },
    Check("another object does not find what was removed", keeping, [.reopening]) { store in
      let (key, kept) = (
        try StoreKey("item", in: "conformance"), try StoreKey("kept", in: "conformance")
      )
      let sample = Sample("text")
      for key in [key, kept] { try await store.put(sample, for: key) }
      try await store.remove(key)
      let other = try await store.reopened()
      try await other.expectValue(nil, for: key, among: [sample], "by another object")
      try await other.expectKeys([kept])
    },
    Check(
      "an object reads what another changes", seeing, [.reopening, .seesOtherProcesses]
    ) { store in
      let other = try await store.reopened()
      let (key, first, second) = (
        try StoreKey("item", in: "conformance"), Sample("first"), Sample("second")
      )
      for (writer, reader) in [(store, other), (other, store)] {
        try await reader.expectValue(nil, for: key, "before another object puts it")
        try await writer.put(first, for: key)
        try await reader.expectValue(first, for: key, "after another object put it")
        try await writer.put(second, for: key)
        try await reader.expectValue(
          second, for: key, among: [first], "after another object replaced it")
        try await reader.expectKeys([key])
        try await writer.remove(key)
        try await reader.expectValue(
          nil, for: key, among: [first, second], "after another object removed it")
        let isThere = try await reader.contains(key)
        try expect(!isThere, "contains to be false after another object removed it", seen: "true")
        try await reader.expectKeys([])
      }
    },
    Check(
      "two objects that change the data at the same time lose nothing", seeing,
      [.reopening, .seesOtherProcesses]
    ) { store in
      try await store.expectNothingLost(by: [store, store.reopened()])
    },
  ]
}
