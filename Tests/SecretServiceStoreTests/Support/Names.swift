import SessionToolsBase

enum Names {
  /// Returns names that something between a program and a provider's file might change or mix up.
  static func odd() throws -> [ItemName] {
    let identifiers = [
      "a", "A", " a", "a ", "  ", "a b", "\t", "\n", "a\nb", "\r\n", "\u{0}", "a\u{0}b",
      "\u{1b}[2J",
      "%", "%41", "%%", "a%20b", "\u{7f}", "\u{85}", "\u{a0}", "\u{a0}a", "\u{ad}", "\u{feff}a",
      "\u{e9}", "e\u{301}", "\u{212b}", "\u{c5}", "A\u{30a}", "\u{1e9b}\u{323}", "\u{1f600}",
      "👩‍👩‍👧‍👦", "\u{202e}abc", "אבג", "مرحبا", "日本語", "\u{e000}", "\u{10ffff}", "\u{fffd}",
      "\u{fffe}",
      "\u{2028}", "/", "..", "\\", "\\n", "\"'<>&;=[]#", "]]>", "{{}}", "{REF:A@I:0}", "Title",
      String(repeating: "x", count: 4096), String(repeating: "x", count: 4095) + "y",
      String(repeating: "é", count: 2048), String(repeating: "\u{1}", count: 4096),
    ]
    var names = try identifiers.map { try ItemName($0, in: "service") }
    // Parts that are equal when they are joined as text.
    for (service, group, install) in [
      ("a", "b", "c"), ("a", "bc", nil), ("ab", "c", nil), ("a", nil, "bc"), ("ab", nil, "c"),
      ("abc", nil, nil), ("a", "b", nil), ("\u{e9}", "e\u{301}", " "), ("%", "%25", "\u{0}"),
    ] as [(String, String?, String?)] {
      let namespace = try StoreNamespace(
        service: service, accessGroup: group,
        install: install.map { InstallIdentifier(rawValue: $0) })
      names.append(try ItemName("item", in: namespace))
      names.append(try ItemName("\(group ?? "")item", in: namespace))
    }
    return names
  }
}
