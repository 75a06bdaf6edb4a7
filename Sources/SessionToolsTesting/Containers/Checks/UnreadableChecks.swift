import SessionToolsBase

private let reporting = """
  A container throws what keeps it from answering, and never reports "unknown" as "absent".
  """
private let keeping = "No error removes anything."

extension ContainerConformance {
  static let unreadableChecks = [
    Check("a container that cannot read throws", reporting, [.locking]) { container in
      try await container.storeItem(.first, "user")
      try await container.lock()
      for identifier in ["user", "absent"] {
        try await container.expectThrows("item") { _ = try await container.item(identifier) }
        let has = try await container.hasItem(identifier)
        try expect(!has, "hasItem to be false when the container cannot be read", seen: "true")
      }
      try await container.expectThrows("storeItem") {
        try await container.storeItem(.second, "user")
      }
      try await container.expectThrows("removeItem") { try await container.removeItem("user") }
    },
    Check("items are kept while they cannot be read", keeping, [.locking]) { container in
      try await container.storeItem(.first, "user")
      try await container.lock()
      // Another check covers the errors that these calls throw.
      _ = try? await container.item("user")
      try? await container.storeItem(.second, "user")
      try? await container.removeItem("user")
      try await container.unlock()
      try await container.expectItem(.first, "after the container could be read again")
    },
    Check(
      "the newer calls never report unreadable as absent", reporting, [.observable, .locking]
    ) { container in
      let newer = try container.observable()
      try await container.storeItem(.first, "user")
      try await container.lock()
      for kind in CallKind.allCases {
        for identifier in ["user", "absent"] {
          try await container.expectThrows("loadItem, by \(kind) calls,") {
            _ = try await newer.load(identifier, by: kind)
          }
          try await container.expectThrows("containsItem, by \(kind) calls,") {
            _ = try await newer.contains(identifier, by: kind)
          }
        }
        try await container.expectThrows("storing, by \(kind) calls,") {
          try await newer.store(.second, "user", by: kind)
        }
        try await container.expectThrows("removing, by \(kind) calls,") {
          try await newer.remove("user", by: kind)
        }
      }
      try await container.unlock()
      try await newer.expectItem(.first, "after the container could be read again")
    },
    Check(
      "an item that cannot be decoded is an error, and is not removed", "\(reporting) \(keeping)",
      [.observable, .damaging]
    ) { container in
      let newer = try container.observable()
      try await container.storeItem(.first, "user")
      try await container.storeItem(.first, "other")
      try await container.damage("user")
      for kind in CallKind.allCases {
        // The second time shows that the first removed nothing.
        for _ in 1...2 {
          try await container.expectThrows("loadItem of a damaged item, by \(kind) calls,") {
            _ = try await newer.load("user", by: kind)
          }
        }
      }
      try await newer.expectItem(.first, of: "other", "beside a damaged item")
      try await container.storeItem(.second, "user")
      try await newer.expectItem(.second, "after it replaced a damaged one")
    },
  ]

  static let storeBackedChecks = [
    Check(
      "identifiers are compared byte for byte", "An identifier becomes a name of the store.",
      [.storeBacked]
    ) { container in
      try await container.expectApart(["\u{e9}", "e\u{301}", "\u{212b}", "\u{c5}", "A\u{30a}"])
    },
    Check(
      "an invalid identifier is an error",
      "An identifier that is empty, or has more than 4,096 bytes of UTF-8, is invalidName.",
      [.storeBacked]
    ) { container in
      try await container.expectApart([
        String(repeating: "x", count: 2000) + "a", String(repeating: "x", count: 2000) + "b",
      ])
      for identifier in ["", String(repeating: "x", count: 4097)] {
        let what = identifier.isEmpty ? "an empty identifier" : "an identifier of 4,097 bytes"
        try await container.expectThrows("item of \(what)") {
          _ = try await container.item(identifier)
        }
        try await container.expectThrows("storeItem of \(what)") {
          try await container.storeItem(.first, identifier)
        }
        let has = try await container.hasItem(identifier)
        try expect(!has, "hasItem to be false for \(what)", seen: "true")
      }
    },
    Check(
      "the items are those of the store", "storeContainer gives the same items.", [.storeBacked]
    ) { container in
      let inside = try container.storeBacked()
      try await container.storeItem(.first, "user")
      try await inside.expectItem(.first, "by the container of the store")
      try await inside.storeItem(.second, "user")
      try await container.expectItem(.second, "after the container of the store stored it")
      try await inside.removeItem("user")
      try await container.expectItem(nil, "after the container of the store removed it")
    },
  ]
}
