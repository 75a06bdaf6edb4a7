import SessionToolsBase

private let refusing = "A read-only store refuses every change with accessDenied."
private let reading = "nil means that the store is open and the item is absent, and nothing else."
private let listing = "names returns those of one namespace, or all when nil, in ascending order."

extension StoreConformance {
  static let readOnlyChecks = [
    Check("every change is refused, and changes nothing", refusing, isReadOnly: true) { store in
      let (items, sample) = (try await store.items(), Sample("refused"))
      guard let name = items.keys.min() else { return }
      let absent = try ItemName.fresh()
      for (what, changes) in [
        ("a put over an item", [.put(sample.bytes, for: name)]),
        ("a put of a new item", [.put(sample.bytes, for: absent)]),
        ("a removal", [.remove(name)]), ("a removal of an absent item", [.remove(absent)]),
        ("a list", [.put(sample.bytes, for: absent), .remove(name)]),
      ] as [(String, [StoreChange])] {
        try await store.expectError(StoreError.accessDenied, from: what) {
          try await store.apply(changes)
        }
      }
      let after = try await store.items()
      try expect(after == items, "the same items as before", seen: "others, or other values")
    },
    Check("an empty list is accepted", "An empty list does nothing.", isReadOnly: true) { store in
      try await store.apply([])
    },
    Check(
      "exclusive access is refused", "A read-only store refuses exclusive access.",
      isReadOnly: true
    ) { store in
      let name = try ItemName.fresh()
      try await store.expectError(StoreError.accessDenied, from: "exclusive access") {
        try await store.enter(name, timeout: .zero)
      }
    },
    Check("every listed item is there", "\(listing) \(reading)", isReadOnly: true) { store in
      let names = try await store.names()
      try expect(
        names == Set(names).sorted(), "every name once, in ascending order",
        seen: "another order, or one of them twice")
      for name in names {
        let value = try await store.value(for: name)
        try expect(value != nil, "a value for \(name.described), which is listed", seen: "nil")
        let isThere = try await store.contains(name)
        try expect(isThere, "contains to be true for \(name.described)", seen: "false")
      }
      for namespace in Set(names.map(\.namespace)) {
        try await store.expectNames(names.filter { $0.namespace == namespace }, in: namespace)
      }
    },
    Check("an unlisted item is absent", reading, isReadOnly: true) { store in
      let names = try await store.names()
      guard let name = names.first else { return }
      let absent = try ItemName.fresh()
      let others = [
        absent, name.moved(to: absent.namespace), absent.moved(to: name.namespace),
        try ItemName(absent.namespace.service, in: name.namespace),
      ]
      for name in others where !names.contains(name) {
        try await store.expectValue(nil, for: name, "which is not listed")
        let isThere = try await store.contains(name)
        try expect(!isThere, "contains to be false for \(name.described)", seen: "true")
      }
      try await store.expectNames([], in: absent.namespace)
    },
    Check(
      "both kinds of calls read the same", "Every operation exists blocking and async.",
      isReadOnly: true, kinds: [nil]
    ) { store in
      let (items, others) = (try await store.items(), try await store.byOtherKind.items())
      try expect(items == others, "the same items by both kinds of calls", seen: "others")
    },
    Check("reading changes nothing", "Reads change nothing.", isReadOnly: true) { store in
      let items = try await store.items()
      for _ in 1...2 {
        let again = try await store.items()
        try expect(again == items, "the same items, read again", seen: "others, or other values")
      }
    },
  ]
}

extension StoreProbe {
  /// Returns all items; fails if there are fewer than two.
  fileprivate func items() async throws -> [ItemName: SecretBytes] {
    var items: [ItemName: SecretBytes] = [:]
    for name in try await names() { items[name] = try await value(for: name) }
    try expect(items.count > 1, "a store with two items or more", seen: "\(items.count)")
    return items
  }
}
