import SessionToolsBase

/// A store as a check uses it: by one kind of calls, with descriptions of what it finds.
struct StoreProbe: Sendable {
  let subject: StoreUnderTest
  let store: any SecretStore
  let kind: CallKind
  let patience: Duration

  /// The same store by the other kind of calls.
  var byOtherKind: StoreProbe {
    StoreProbe(subject: subject, store: store, kind: kind.other, patience: patience)
  }

  /// Returns another object of the same data.
  func reopened() async throws -> StoreProbe {
    guard let reopen = subject.reopen else {
      preconditionFailure("a check that reopens says so in its requirements")
    }
    return StoreProbe(
      subject: subject, store: try await reopen(), kind: kind, patience: patience)
  }

  func lock() async throws { try await subject.lock?() }
  func unlock() async throws { try await subject.unlock?() }

  // MARK: - Operations

  func value(for name: ItemName) async throws -> SecretBytes? {
    switch kind {
    case .blocking: try await onOwnThread { [store] in try store.value(for: name) }
    case .async: try await store.asyncValue(for: name)
    }
  }

  func contains(_ name: ItemName) async throws -> Bool {
    switch kind {
    case .blocking: try await onOwnThread { [store] in try store.contains(name) }
    case .async: try await store.asyncContains(name)
    }
  }

  func apply(_ changes: [StoreChange]) async throws {
    switch kind {
    case .blocking: try await onOwnThread { [store] in try store.apply(changes) }
    case .async: try await store.asyncApply(changes)
    }
  }

  func names(in namespace: StoreNamespace? = nil) async throws -> [ItemName] {
    switch kind {
    case .blocking: try await onOwnThread { [store] in try store.names(in: namespace) }
    case .async: try await store.asyncNames(in: namespace)
    }
  }

  func put(_ sample: Sample, for name: ItemName) async throws {
    try await apply([.put(sample.bytes, for: name)])
  }

  func remove(_ name: ItemName) async throws {
    try await apply([.remove(name)])
  }

  // MARK: - Expectations

  /// Expects that an item has a value, or is absent.
  func expectValue(
    _ sample: Sample?, for name: ItemName, among others: [Sample] = [], _ when: String = ""
  ) async throws {
    let found = try await value(for: name)
    let expected = sample.map { "the value \($0.described)" } ?? "nil"
    try expect(
      found == sample?.bytes, "\(expected) for \(name.described)\(when.isEmpty ? "" : " \(when)")",
      seen: found.described(among: others + [sample].compactMap(\.self)))
  }

  /// Expects that a value, put under one name, comes back.
  func expectRoundTrip(of sample: Sample) async throws {
    let name = try ItemName("item", in: "conformance")
    try await put(sample, for: name)
    try await expectValue(sample, for: name, "after it was put")
  }

  /// Expects that items under several names are kept apart, and listed under these names.
  func expectApart(_ names: [ItemName]) async throws {
    let samples = names.indices.map { Sample("number \($0)") }
    for (name, sample) in zip(names, samples) { try await put(sample, for: name) }
    for (name, sample) in zip(names, samples) {
      try await expectValue(sample, for: name, among: samples, "beside other names")
    }
    try await expectNames(names)
    try await remove(names[0])
    for (name, sample) in zip(names, samples).dropFirst() {
      try await expectValue(
        sample, for: name, among: samples, "after \(names[0].described) was removed")
    }
  }

  /// Expects that the names listed are these, in ascending order.
  func expectNames(_ names: [ItemName], in namespace: StoreNamespace? = nil) async throws {
    let found = try await self.names(in: namespace)
    let expected = names.sorted()
    guard found != expected else { return }
    let place = namespace.map { "in the namespace \($0.service.described)" } ?? "in all namespaces"
    let what = "\(names.count) names \(place), in ascending order"
    let missing = expected.filter { !found.contains($0) }
    let foreign = found.filter { !expected.contains($0) }
    var differences: [String] = []
    if !missing.isEmpty { differences.append("without \(missing.described)") }
    if !foreign.isEmpty { differences.append("with \(foreign.described)") }
    if differences.isEmpty {
      differences = [found.count == expected.count ? "in another order" : "some of them twice"]
    }
    throw Finding(
      expected: what, seen: "\(found.count) names \(differences.joined(separator: " and "))")
  }

  /// Expects a `StoreError`, of a given code if one is promised.
  @discardableResult
  func expectError(
    _ code: StoreError.Code?, from what: String, _ body: () async throws -> Void
  ) async throws -> StoreError {
    let expected = "\(what) to throw \(code.map { "StoreError.\($0)" } ?? "a StoreError")"
    do {
      try await body()
    } catch let error as StoreError {
      if code == nil || error.code == code { return error }
      throw Finding(expected: expected, seen: error)
    } catch {
      throw Finding(expected: expected, seen: error)
    }
    throw Finding(expected: expected, seen: "no error")
  }

  /// Polls until a condition holds.
  func wait(
    until expected: String, seen: () -> String = { "that it did not happen" },
    _ isSo: () async throws -> Bool
  ) async throws {
    try await patience.wait(until: expected, seen: seen, isSo)
  }
}

extension Duration {
  /// Polls for this duration until a condition holds.
  func wait(
    until expected: String, seen: () -> String = { "that it did not happen" },
    _ isSo: () async throws -> Bool
  ) async throws {
    let end = ContinuousClock.now + self
    while try await !isSo() {
      guard ContinuousClock.now < end else { throw Finding(expected: expected, seen: seen()) }
      try await Task.sleep(for: .milliseconds(2))
    }
  }
}
