import SessionToolsBase

private let keeping = "When apply returned, the changes are there for every object of the data."
private let seeing = """
  Where seesOtherProcesses holds, changes made by other processes are read.
  """

extension StoreConformance {
  static let reopeningChecks = [
    Check("another object finds what was put", keeping, [.reopening]) { store in
      let names = try ["a", "b", "e\u{301}"].map { try ItemName($0, in: "conformance") }
      let samples = [Sample("text"), Sample("empty", []), Sample(byteCount: 70_000)]
      for (name, sample) in zip(names, samples) {
        try await store.put(Sample("older"), for: name)
        try await store.put(sample, for: name)
      }
      let other = try await store.reopened()
      for (name, sample) in zip(names, samples) {
        try await other.expectValue(sample, for: name, "by another object")
      }
      try await other.expectNames(names)
    },
    Check("another object does not find what was removed", keeping, [.reopening]) { store in
      let (name, kept) = (
        try ItemName("item", in: "conformance"), try ItemName("kept", in: "conformance")
      )
      let sample = Sample("text")
      for name in [name, kept] { try await store.put(sample, for: name) }
      try await store.remove(name)
      let other = try await store.reopened()
      try await other.expectValue(nil, for: name, among: [sample], "by another object")
      try await other.expectNames([kept])
    },
    Check(
      "an object reads what another changes", seeing, [.reopening, .seesOtherProcesses]
    ) { store in
      let other = try await store.reopened()
      let (name, first, second) = (
        try ItemName("item", in: "conformance"), Sample("first"), Sample("second")
      )
      for (writer, reader) in [(store, other), (other, store)] {
        try await reader.expectValue(nil, for: name, "before another object puts it")
        try await writer.put(first, for: name)
        try await reader.expectValue(first, for: name, "after another object put it")
        try await writer.put(second, for: name)
        try await reader.expectValue(
          second, for: name, among: [first], "after another object replaced it")
        try await reader.expectNames([name])
        try await writer.remove(name)
        try await reader.expectValue(
          nil, for: name, among: [first, second], "after another object removed it")
        let isThere = try await reader.contains(name)
        try expect(!isThere, "contains to be false after another object removed it", seen: "true")
        try await reader.expectNames([])
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
