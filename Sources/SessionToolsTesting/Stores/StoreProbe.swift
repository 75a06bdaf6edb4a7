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

  func value(for key: StoreKey) async throws -> SecretBytes? {
    switch kind {
    case .blocking: try await onOwnThread { [store] in try store.value(for: key) }
    case .async: try await store.asyncValue(for: key)
    }
  }

  func contains(_ key: StoreKey) async throws -> Bool {
    switch kind {
    case .blocking: try await onOwnThread { [store] in try store.contains(key) }
    case .async: try await store.asyncContains(key)
    }
  }

  func apply(_ changes: [StoreChange]) async throws {
    switch kind {
    case .blocking: try await onOwnThread { [store] in try store.apply(changes) }
    case .async: try await store.asyncApply(changes)
    }
  }

  func keys(in namespace: StoreNamespace? = nil) async throws -> [StoreKey] {
    switch kind {
    case .blocking: try await onOwnThread { [store] in try store.keys(in: namespace) }
    case .async: try await store.asyncKeys(in: namespace)
    }
  }

  func put(_ sample: Sample, for key: StoreKey) async throws {
    try await apply([.put(sample.bytes, for: key)])
  }

  func remove(_ key: StoreKey) async throws {
    try await apply([.remove(key)])
  }

  // MARK: - Expectations

  /// Expects that an item has a value, or is absent.
  func expectValue(
    _ sample: Sample?, for key: StoreKey, among others: [Sample] = [], _ when: String = ""
  ) async throws {
    let found = try await value(for: key)
    let expected = sample.map { "the value \($0.told)" } ?? "nil"
    try expect(
      found == sample?.bytes, "\(expected) for \(key.told)\(when.isEmpty ? "" : " \(when)")",
      seen: found.told(among: others + [sample].compactMap(\.self)))
  }

  /// Expects that a value, put under one name, comes back.
  func expectRoundTrip(of sample: Sample) async throws {
    let key = try StoreKey("item", in: "conformance")
    try await put(sample, for: key)
    try await expectValue(sample, for: key, "after it was put")
  }

  /// Expects that items under several names are kept apart, and listed under these names.
  func expectApart(_ keys: [StoreKey]) async throws {
    let samples = keys.indices.map { Sample("number \($0)") }
    for (key, sample) in zip(keys, samples) { try await put(sample, for: key) }
    for (key, sample) in zip(keys, samples) {
      try await expectValue(sample, for: key, among: samples, "beside other names")
    }
    try await expectKeys(keys)
    try await remove(keys[0])
    for (key, sample) in zip(keys, samples).dropFirst() {
      try await expectValue(
        sample, for: key, among: samples, "after \(keys[0].told) was removed")
    }
  }

  /// Expects that the names listed are these, in ascending order.
  func expectKeys(_ keys: [StoreKey], in namespace: StoreNamespace? = nil) async throws {
    let found = try await self.keys(in: namespace)
    let expected = keys.sorted()
    guard found != expected else { return }
    let place = namespace.map { "in the namespace \($0.service.told)" } ?? "in all namespaces"
    let what = "\(keys.count) keys \(place), in ascending order"
    let missing = expected.filter { !found.contains($0) }
    let foreign = found.filter { !expected.contains($0) }
    var differences: [String] = []
    if !missing.isEmpty { differences.append("without \(missing.told)") }
    if !foreign.isEmpty { differences.append("with \(foreign.told)") }
    if differences.isEmpty {
      differences = [found.count == expected.count ? "in another order" : "some of them twice"]
    }
    throw Finding(
      expected: what, seen: "\(found.count) keys \(differences.joined(separator: " and "))")
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
