import SecretServiceStore
import SessionToolsBase
import SessionToolsTestSupport
import Testing

/// Names as providers store them.
@Suite struct ItemNameTests {
  @Test func `names come back from their escaped form, which is one visible line`() throws {
    for itemName in try Names.odd() {
      let escaped = EscapedName.escape(itemName.identifier)
      let name = try #require(EscapedName.unescape(escaped))
      #expect(name.utf8.elementsEqual(itemName.identifier.utf8), "\(escaped)")
      #expect(!escaped.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7f })
      #expect(!escaped.contains("{") && !escaped.hasPrefix(" ") && !escaped.hasSuffix(" "))
    }
  }

  @Test func `every scalar comes back`() throws {
    // The first and last ones of each size, and every `step`th of the others.
    let step = TestSize.choose(small: 1009, medium: 101, large: 1)
    let edges = [0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xffff, 0x10000, 0x10ffff] as [Int]
    for value in Array(0...0x3ff) + edges + Array(stride(from: 0x400, to: 0x10ffff, by: step)) {
      guard let scalar = Unicode.Scalar(UInt32(value)) else { continue }
      let name = "a\(scalar)b"
      let back = EscapedName.unescape(EscapedName.escape(name))
      // Without an expectation for each, because there may be a million.
      if back.map({ $0.utf8.elementsEqual(name.utf8) }) != true {
        Issue.record("U+\(String(value, radix: 16))")
      }
    }
  }

  @Test(arguments: [
    "%", "%4", "a%", "%4z", "%zz", "%41", "%C3%A9", "%c3%a9", "%ff", "%c3", "\n", "a\u{0}", " a",
    "a ", "%25%", "%+1", "% 1", "{", "%7b", "\u{200b}", "%-1",
  ])
  func `text that is not the escaped form of any name is rejected`(_ text: String) {
    #expect(EscapedName.unescape(text) == nil)
  }

  @Test func `plain names stay as they are`() {
    for name in ["com.example.mail", "a b", "é", "e\u{301}", "日本語", "a/b", "😀", "}"] {
      #expect(EscapedName.escape(name).utf8.elementsEqual(name.utf8))
    }
    #expect(EscapedName.escape("{a} %") == "%7Ba} %25")
    #expect(EscapedName.escape(" \n") == "%20%0A")
  }

  @Test func `a name comes back from its attributes`() throws {
    for size in [ItemAttributes.Size.small, .large] {
      for name in try Names.odd() {
        #expect(ItemAttributes.name(of: ItemAttributes.all(of: name, size: size)) == name)
      }
    }
  }

  @Test func `items have attributes with the same names, of which one is unique`() throws {
    let names = try Names.odd()
    let all = names.map { ItemAttributes.all(of: $0, size: .small) }
    #expect(Set(all.map { $0.keys.sorted() }).count == 1)
    #expect(Set(all.map { $0["session-tools:id"] ?? "" }).count == Set(names).count)
  }

  @Test func `attributes of which one is missing or wrong are not a name`() throws {
    let namespace = try StoreNamespace(
      service: "service", accessGroup: "group", install: InstallIdentifier(rawValue: "install"))
    let attributes = ItemAttributes.all(of: try ItemName("item", in: namespace), size: .small)
    let named = [
      "session-tools:id", "session-tools:service", "session-tools:access-group",
      "session-tools:install", "session-tools:identifier",
    ]
    for name in named {
      for value in [nil, "", "other", "%"] {
        var changed = attributes
        changed[name] = value
        #expect(ItemAttributes.name(of: changed) == nil, "\(name)")
      }
    }
  }

  @Test func `a value is large if a hundred of its size would be too much at once`() {
    func size(_ byteCount: Int) -> ItemAttributes.Size {
      ItemAttributes.Size(of: SecretBytes([UInt8](repeating: 0, count: byteCount)))
    }
    #expect(size(0) == .small && size(32 << 10) == .small)
    #expect(size((32 << 10) + 1) == .large)
  }
}
