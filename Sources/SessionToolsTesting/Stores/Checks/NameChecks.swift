import SessionToolsBase

private let names = """
  A name is any text of 1 to 4,096 bytes of UTF-8, compared byte for byte; two items are the same \
  only if every part of their names is the same.
  """

/// Returns names of one namespace.
private func itemNames(_ identifiers: [String]) throws -> [ItemName] {
  try identifiers.map { try ItemName($0, in: "conformance") }
}

/// Returns names of one identifier in several namespaces.
private func itemNames(
  _ namespaces: [(service: String, group: String?, install: String?)]
) throws -> [ItemName] {
  try namespaces.map { service, group, install in
    try ItemName(
      "item",
      in: StoreNamespace(
        service: service, accessGroup: group,
        install: install.map { InstallIdentifier(rawValue: $0) }))
  }
}

extension StoreConformance {
  static let nameChecks = [
    Check("names that differ in case are different", names) { store in
      try await store.expectApart(itemNames(["token", "Token", "TOKEN", "ß", "SS", "İ", "i"]))
    },
    Check("names that differ in spaces are different", names) { store in
      try await store.expectApart(
        itemNames([
          "a", " a", "a ", "a b", "a  b", " ", "  ", "\t", "\u{a0}", "\u{feff}a", "\u{ad}a",
        ]))
    },
    Check("names may have control characters", names) { store in
      try await store.expectApart(
        itemNames(["a", "\0", "a\0", "a\0b", "\n", "\r\n", "a\nb", "\u{1b}[2J", "\u{7f}", "\u{85}"])
      )
    },
    Check("composed and decomposed characters are different", names) { store in
      try await store.expectApart(
        itemNames([
          "\u{e9}", "e\u{301}", "e", "\u{212b}", "\u{c5}", "A\u{30a}", "\u{fb01}", "fi",
          "\u{1e9b}\u{323}", "\u{1e9b}\u{323}a",
        ]))
    },
    Check("names may be of any script", names) { store in
      try await store.expectApart(
        itemNames([
          "?", "😀", "👩‍👩‍👧‍👦", "👩", "אבג", "مرحبا", "日本語", "日本", "\u{202e}abc", "\u{e000}",
          "\u{fffd}", "\u{fffe}", "\u{10ffff}",
        ]))
    },
    Check("names that look like paths and escapes are only names", names) { store in
      try await store.expectApart(
        itemNames([
          "a", "/", "a/b", "b", "..", ".", "../a", "/a", "\\", "\\n", "%", "%61", "%2561", "%00",
          "\"'<>&;=[]#", "]]>", "{{}}", "${a}", "*", "a*", "$(a)",
        ]))
    },
    Check("the longest names are kept apart to their last byte", names) { store in
      let long = String(repeating: "x", count: 4095)
      try await store.expectApart(
        itemNames([
          long, long + "x", long + "y", String(repeating: "x", count: 255),
          String(repeating: "\u{e9}", count: 2048), String(repeating: "\u{1}", count: 4096),
        ]))
    },
    Check("every part of a name may have the full length", names) { store in
      let long = String(repeating: "n", count: 4095)
      var longest: [ItemName] = []
      for (service, group, install, identifier) in [
        ("a", "a", "a", "a"), ("b", "a", "a", "a"), ("a", "b", "a", "a"), ("a", "a", "b", "a"),
        ("a", "a", "a", "b"),
      ] {
        longest.append(
          try ItemName(
            long + identifier,
            in: StoreNamespace(
              service: long + service, accessGroup: long + group,
              install: InstallIdentifier(rawValue: long + install))))
      }
      try await store.expectApart(longest)
    },
    Check("one identifier in several services is several items", names) { store in
      try await store.expectApart(
        itemNames([
          ("mail", nil, nil), ("Mail", nil, nil), ("mail.example", nil, nil), ("item", nil, nil),
        ]))
    },
    Check("an access group or an installation makes another namespace", names) { store in
      try await store.expectApart(
        itemNames([
          ("mail", nil, nil), ("mail", "group", nil), ("mail", nil, "group"),
          ("mail", "group", "group"), ("mail", "mail", nil), ("mail", nil, "mail"),
        ]))
    },
    Check("names that are equal as joined text are kept apart", names) { store in
      try await store.expectApart(
        itemNames([
          ("a", "b", "c"), ("a", "bc", nil), ("ab", "c", nil), ("a", nil, "bc"), ("ab", nil, "c"),
          ("abc", nil, nil), ("a", "b", nil), ("a.b", nil, nil), ("a/b", nil, nil),
          ("a b", nil, nil), ("a\0b", nil, nil), ("a", "b.c", nil), ("a.b", "c", nil),
          ("a|b", nil, nil), ("a:b", nil, nil), ("a,b", nil, nil), ("a-b", nil, nil),
        ]))
    },
    Check("a namespace lists only its own names", names) { store in
      let itemNames = try itemNames([
        ("mail", nil, nil), ("mail.example", nil, nil), ("mai", nil, nil), ("MAIL", nil, nil),
        ("mail", "group", nil), ("mail", "gro", nil), ("mail", nil, "install"),
        ("mail", "group", "install"), ("\u{e9}", nil, nil), ("e\u{301}", nil, nil),
      ])
      for (number, name) in itemNames.enumerated() {
        try await store.put(Sample("number \(number)"), for: name)
      }
      for name in itemNames { try await store.expectNames([name], in: name.namespace) }
      try await store.expectNames([], in: "ma")
    },
    Check("names are listed byte for byte as they were given", names) { store in
      let identifiers = ["e\u{301}", "\u{e9}", "A\u{30a}", "a\0", " a ", "%41", "👩‍👩‍👧‍👦", "\n"]
      for name in try itemNames(identifiers) { try await store.put(Sample("text"), for: name) }
      let found = try await store.names().map { Array($0.identifier.utf8) }
      for identifier in identifiers {
        try expect(
          found.contains(Array(identifier.utf8)), "the name \(identifier.described) to be listed",
          seen: "other names")
      }
    },
  ]
}
