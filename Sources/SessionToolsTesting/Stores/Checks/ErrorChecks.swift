import SessionToolsBase

private let texts = """
  The text of an error names the store and what happened, and never shows a value.
  """

extension StoreConformance {
  static let errorChecks = [
    Check("an error names the store and what happened", texts) { store in
      let name = try ItemName.fresh()
      let hold = try await store.hold(name)
      let error = try await store.expectError(StoreError.timedOut, from: "a name that is held") {
        try await store.enter(name, timeout: .zero)
      }
      try await hold.end()
      try expect(!error.store.isEmpty, "the error to name the store", seen: "no name")
      try expect(!error.reason.isEmpty, "the error to report what happened", seen: "no reason")
    },
    Check("the error of a too large value does not show the value", texts, [.limitedValues]) {
      store in
      var bytes = Array("\(Sample.mark) ".utf8)
      let byteCount = store.store.traits.maximumValueByteCount + 1
      while bytes.count < byteCount { bytes += bytes }
      let value = SecretBytes(Array(bytes.prefix(byteCount)))
      let name = try ItemName("item", in: "conformance")
      try await store.expectSilence(about: "a value that is too large") {
        try await store.apply([.put(value, for: name)])
      }
    },
    Check("the error of a locked store does not show the value", texts, [.locking]) { store in
      let name = try ItemName("item", in: "conformance")
      try await store.lock()
      try await store.expectSilence(about: "a change of a locked store") {
        try await store.put(Sample("text"), for: name)
      }
    },
  ]

  static let traitChecks = [
    Check(
      "the traits are plausible",
      "traits states what the store can do, and protection() what protects it, in one line.",
      kinds: [nil]
    ) { store in
      let traits = store.store.traits
      try expect(
        traits.maximumValueByteCount > 0, "a largest value above 0 bytes",
        seen: "\(traits.maximumValueByteCount)")
      let protection = try store.store.protection().description
      try expect(
        !protection.isEmpty && !protection.contains(where: \.isNewline),
        "the protection in one line", seen: protection.isEmpty ? "none" : "several lines")
    }
  ]
}

extension StoreProbe {
  /// Expects an error that does not have the value in any of its texts.
  fileprivate func expectSilence(
    about what: String, _ body: () async throws -> Void
  ) async throws {
    let error = try await expectError(nil, from: what, body)
    let texts = [
      error.description, error.store, error.reason, error.remedy ?? "", "\(error)",
      String(reflecting: error),
    ]
    try expect(
      texts.allSatisfy { !$0.contains(Sample.mark) }, "an error of \(what) without the value",
      seen: "an error whose text has the value, or a part of it")
  }
}
