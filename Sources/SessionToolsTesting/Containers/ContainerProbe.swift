import SessionToolsBase

/// An item as checks know it, without its type.
enum SampleItem: Hashable, Sendable {
  case first, second
  /// Neither of the two.
  case other

  var described: String {
    switch self {
    case .first: "the first item"
    case .second: "the second item"
    case .other: "another item"
    }
  }
}

extension SampleItem? {
  var described: String { map(\.described) ?? "nil, as for an absent item" }
}

/// A container as a check uses it, without the type of its items.
protocol ContainerProbe {
  var patience: Duration { get }

  func hasItem(_ identifier: String) async throws -> Bool
  func item(_ identifier: String) async throws -> SampleItem?
  func storeItem(_ item: SampleItem, _ identifier: String) async throws
  func removeItem(_ identifier: String) async throws

  /// Returns another container of the same items.
  func reopened() async throws -> any ContainerProbe
  func lock() async throws
  func unlock() async throws
  func damage(_ identifier: String) async throws

  /// Returns a probe for the newer calls.
  func observable() throws -> any ObservableProbe
  /// Returns a container of the same items on the container's store.
  func storeBacked() throws -> any ContainerProbe
}

/// The newer calls of a container, of either kind.
protocol ObservableProbe: Sendable {
  func contains(_ identifier: String, by kind: CallKind) async throws -> Bool
  func load(_ identifier: String, by kind: CallKind) async throws -> SampleItem?
  func store(_ item: SampleItem, _ identifier: String, by kind: CallKind) async throws
  func remove(_ identifier: String, by kind: CallKind) async throws
  func changes(_ identifier: String) -> AsyncStream<Void>
}

extension ContainerProbe {
  /// Expects that an item is there, or absent, by the methods that every container has.
  func expectItem(
    _ expected: SampleItem?, of identifier: String = "user", _ when: String
  ) async throws {
    let found = try await item(identifier)
    try expect(
      found == expected, "\(expected?.described ?? "nil") for \(identifier.described) \(when)",
      seen: found.described)
    let has = try await hasItem(identifier)
    try expect(
      has == (expected != nil),
      "hasItem to be \(expected != nil) for \(identifier.described) \(when)", seen: "\(has)")
  }

  /// Expects that a call throws.
  func expectThrows(_ what: String, _ body: () async throws -> Void) async throws {
    do {
      try await body()
    } catch {
      return
    }
    throw Finding(expected: "\(what) to throw", seen: "no error")
  }
}

extension ObservableProbe {
  /// Expects that an item is there, or absent, by the newer calls of both kinds.
  func expectItem(
    _ expected: SampleItem?, of identifier: String = "user", _ when: String
  ) async throws {
    for kind in CallKind.allCases {
      let found = try await load(identifier, by: kind)
      try expect(
        found == expected,
        "\(expected?.described ?? "nil") for \(identifier.described) \(when), by \(kind) calls",
        seen: found.described)
      let contains = try await contains(identifier, by: kind)
      try expect(
        contains == (expected != nil),
        "containsItem to be \(expected != nil) for \(identifier.described) \(when), "
          + "by \(kind) calls",
        seen: "\(contains)")
    }
  }
}
