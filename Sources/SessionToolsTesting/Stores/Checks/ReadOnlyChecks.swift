import SessionToolsBase

private let refusing = "A read-only store refuses every change with accessDenied."
private let reading = "nil means that the store is open and the item is absent, and nothing else."
private let listing = "keys returns those of one namespace, or all when nil, in ascending order."

extension StoreConformance {
  static let readOnlyChecks = [
    Check("every change is refused, and changes nothing", refusing, isReadOnly: true) { store in
      let (items, sample) = (try await store.items(), Sample("refused"))
      guard let key = items.keys.min() else { return }
      let absent = try StoreKey.fresh()
      for (what, changes) in [
        ("a put over an item", [.put(sample.bytes, for: key)]),
        ("a put of a new item", [.put(sample.bytes, for: absent)]),
        ("a removal", [.remove(key)]), ("a removal of an absent item", [.remove(absent)]),
        ("a list", [.put(sample.bytes, for: absent), .remove(key)]),
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
      let key = try StoreKey.fresh()
      try await store.expectError(StoreError.accessDenied, from: "exclusive access") {
        try await store.enter(key, timeout: .zero)
      }
    },
    Check("every listed item is there", "\(listing) \(reading)", isReadOnly: true) { store in
      let keys = try await store.keys()
      try expect(
        keys == Set(keys).sorted(), "every key once, in ascending order",
        seen: "another order, or one of them twice")
      for key in keys {
        let value = try await store.value(for: key)
        try expect(value != nil, "a value for \(key.told), which is listed", seen: "nil")
        let isThere = try await store.contains(key)
        try expect(isThere, "contains to be true for \(key.told)", seen: "false")
      }
      for namespace in Set(keys.map(\.namespace)) {
        try await store.expectKeys(keys.filter { $0.namespace == namespace }, in: namespace)
      }
    },
    Check("an unlisted item is absent", reading, isReadOnly: true) { store in
      let keys = try await store.keys()
      guard let key = keys.first else { return }
      let absent = try StoreKey.fresh()
      let others = [
        absent, key.moved(to: absent.namespace), absent.moved(to: key.namespace),
        try StoreKey(absent.namespace.service, in: key.namespace),
      ]
      for key in others where !keys.contains(key) {
        try await store.expectValue(nil, for: key, "which is not listed")
        let isThere = try await store.contains(key)
        try expect(!isThere, "contains to be false for \(key.told)", seen: "true")
      }
      try await store.expectKeys([], in: absent.namespace)
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
  fileprivate func items() async throws -> [StoreKey: SecretBytes] {
    var items: [StoreKey: SecretBytes] = [:]
    for key in try await keys() { items[key] = try await value(for: key) }
    try expect(items.count > 1, "a store with two items or more", seen: "\(items.count)")
    return items
  }
}
