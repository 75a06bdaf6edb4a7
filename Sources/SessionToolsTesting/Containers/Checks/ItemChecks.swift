import SessionToolsBase

private let absence = "item returns nil, and hasItem false, if there is no item."
private let storing = "storeItem stores an item and replaces an older one."
private let removing = "removeItem removes an item; removing an absent item is not an error."
private let identifiers = "An identifier is the item's name in its container: any text."

extension ContainerConformance {
  static let itemChecks = [
    Check("an absent item is nil", absence) { container in
      try await container.expectItem(nil, "in an empty container")
      try await container.storeItem(.first, "other")
      try await container.expectItem(nil, "beside another item")
    },
    Check("a stored item comes back", storing) { container in
      try await container.storeItem(.first, "user")
      let found = try await container.item("user")
      try expect(found == .first, "the first item, after it was stored", seen: found.described)
    },
    Check("hasItem is true for a stored item", "hasItem says whether there is an item.") {
      container in
      try await container.storeItem(.first, "user")
      let has = try await container.hasItem("user")
      try expect(has, "hasItem to be true after an item was stored", seen: "false")
    },
    Check("reading leaves an item as it is", "Reads change nothing.") { container in
      try await container.storeItem(.first, "user")
      for time in ["at first", "again", "a third time"] {
        try await container.expectItem(.first, "read \(time)")
      }
    },
    Check("reading an absent item does not create it", "Reads change nothing.") { container in
      for time in ["at first", "again"] {
        try await container.expectItem(nil, "read \(time)")
      }
    },
    Check("an item replaces an older one", storing) { container in
      for item in [SampleItem.first, .second, .second, .first] {
        try await container.storeItem(item, "user")
        try await container.expectItem(item, "after it was stored")
      }
    },
    Check("a removed item is absent", removing) { container in
      try await container.storeItem(.first, "user")
      try await container.removeItem("user")
      try await container.expectItem(nil, "after it was removed")
    },
    Check("removing an absent item is not an error", removing) { container in
      try await container.removeItem("user")
      try await container.storeItem(.first, "other")
      try await container.removeItem("user")
      try await container.expectItem(.first, of: "other", "after another one was removed")
    },
    Check("an item can be stored again after it was removed", storing) { container in
      for item in [SampleItem.first, .second] {
        try await container.storeItem(item, "user")
        try await container.expectItem(item, "after it was stored")
        try await container.removeItem("user")
        try await container.expectItem(nil, "after it was removed")
      }
    },
    Check("identifiers keep items apart", identifiers) { container in
      try await container.expectApart(["user", "user2", "use", "other"])
    },
    Check("identifiers may differ only in case and spaces", identifiers) { container in
      try await container.expectApart(["user", "User", "USER", " user", "user ", "us er", " "])
    },
    Check("identifiers that look like paths and escapes are only names", identifiers) {
      container in
      try await container.expectApart([
        "user", "./user", "../user", "/user", "a/user", "..", ".", "%75ser", "us%65r", "user.json",
        "user\\", "*",
      ])
    },
    Check("identifiers may be of any script, and have control characters", identifiers) {
      container in
      try await container.expectApart([
        "u", "u\0", "u\0v", "\n", "u\n", "é", "😀", "👩‍👩‍👧‍👦", "日本語", "אבג", "?",
      ])
    },
  ]

  static let keepingChecks = [
    Check(
      "another container finds what was stored", "What was stored is kept.", [.reopening]
    ) { container in
      try await container.storeItem(.second, "user")
      try await container.storeItem(.first, "user")
      try await container.storeItem(.second, "other")
      let other = try await container.reopened()
      try await other.expectItem(.first, "by another container")
      try await other.expectItem(.second, of: "other", "by another container")
    },
    Check(
      "another container does not find what was removed", "What was removed stays removed.",
      [.reopening]
    ) { container in
      try await container.storeItem(.first, "user")
      try await container.storeItem(.second, "other")
      try await container.removeItem("user")
      let other = try await container.reopened()
      try await other.expectItem(nil, "by another container")
      try await other.expectItem(.second, of: "other", "by another container")
    },
  ]
}

extension ContainerProbe {
  /// Expects that items under several identifiers are kept apart.
  func expectApart(_ identifiers: [String]) async throws {
    func sample(_ position: Int) -> SampleItem { position.isMultiple(of: 2) ? .first : .second }
    // In both orders, so that two identifiers of one item do not get the same value last.
    for order in [Array(identifiers.enumerated()), identifiers.enumerated().reversed()] {
      for (position, identifier) in order {
        try await expectItem(nil, of: identifier, "before it is stored")
        try await storeItem(sample(position), identifier)
      }
      for (position, identifier) in order {
        try await expectItem(sample(position), of: identifier, "beside other identifiers")
      }
      for (position, identifier) in order {
        try await expectItem(sample(position), of: identifier, "after others were removed")
        try await removeItem(identifier)
      }
    }
  }
}
