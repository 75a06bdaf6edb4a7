import SessionToolsBase
import Testing

private let malformedEncodings: [[UInt8]] = [
  // No service; no identifier; an empty part; a length beyond the end; a length beyond the
  // limit; bytes that are not UTF-8; a surrogate; an overlong encoding.
  [0, 0, 0, 1, 1, 0, 0, 0, 0x69],
  [1, 1, 0, 0, 0, 0x73, 0, 0, 0],
  [1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0x69],
  [1, 9, 0, 0, 0, 0x73, 0, 0, 1, 1, 0, 0, 0, 0x69],
  [1, 1, 0, 0, 0x80, 0x73, 0, 0, 1, 1, 0, 0, 0, 0x69],
  [1, 1, 0, 0, 0, 0xFF, 0, 0, 1, 1, 0, 0, 0, 0x69],
  [1, 3, 0, 0, 0, 0xED, 0xA0, 0x80, 0, 0, 1, 1, 0, 0, 0, 0x69],
  [1, 2, 0, 0, 0, 0xC0, 0xAF, 0, 0, 1, 1, 0, 0, 0, 0x69],
]

@Suite struct `names and namespaces` {
  let composed = "caf\u{E9}"
  let decomposed = "cafe\u{301}"

  @Test func `composed and decomposed text are different names`() throws {
    #expect(composed == decomposed, "Swift regards them as equal")
    #expect(try StoreNamespace(service: composed) != StoreNamespace(service: decomposed))
    let namespace: StoreNamespace = "service"
    #expect(try ItemName(composed, in: namespace) != ItemName(decomposed, in: namespace))
    #expect(InstallIdentifier(rawValue: composed) != InstallIdentifier(rawValue: decomposed))
    let names: Set = [
      try ItemName(composed, in: namespace), try ItemName(decomposed, in: namespace),
    ]
    #expect(names.count == 2)
    let installs: Set = [
      InstallIdentifier(rawValue: composed), InstallIdentifier(rawValue: decomposed),
    ]
    #expect(installs.count == 2)
  }

  @Test func `moving a letter from one part to the next makes another name`() throws {
    let first = try ItemName(
      "x", in: StoreNamespace(service: "s", install: InstallIdentifier(rawValue: "a")))
    let texts = [("a", "bc"), ("ab", "c"), ("abc", nil)]
    let names = try texts.map { service, group in
      try ItemName("x", in: StoreNamespace(service: service, accessGroup: group))
    }
    #expect(Set(names).count == 3)
    #expect(Set(names.map(\.canonicalBytes)).count == 3)
    let asGroup = try ItemName("x", in: StoreNamespace(service: "s", accessGroup: "a"))
    #expect(first != asGroup && first.canonicalBytes != asGroup.canonicalBytes)
  }

  @Test(arguments: ["", String(repeating: "a", count: 4097), String(repeating: "é", count: 2049)])
  func `a part that is empty or longer than 4,096 bytes is refused`(text: String) throws {
    expectFailure(StoreError.invalidName) { try StoreNamespace(service: text) }
    expectFailure(StoreError.invalidName) { try StoreNamespace(service: "s", accessGroup: text) }
    expectFailure(StoreError.invalidName) {
      try StoreNamespace(service: "s", install: InstallIdentifier(rawValue: text))
    }
    expectFailure(StoreError.invalidName) { try ItemName(text, in: "s") }
  }

  @Test(arguments: [1, 4095, 4096])
  func `a part of 1 to 4,096 bytes is accepted`(byteCount: Int) throws {
    let text = String(repeating: "a", count: byteCount)
    let name = try ItemName(text, in: StoreNamespace(service: text, accessGroup: text))
    #expect(name.identifier == text)
    #expect(name.namespace.accessGroup == text)
    #expect(ItemName(canonicalBytes: name.canonicalBytes) == name)
  }

  @Test(arguments: ["/", "..", "\n", "\0", " ", "é", "e\u{301}", "🗝️", "\u{FEFF}"])
  func `any text is kept byte for byte`(text: String) throws {
    let namespace = try StoreNamespace(
      service: text, accessGroup: text, install: InstallIdentifier(rawValue: text))
    let name = try ItemName(text, in: namespace)
    #expect(Array(name.identifier.utf8) == Array(text.utf8))
    #expect(Array(name.namespace.service.utf8) == Array(text.utf8))
    let read = try #require(ItemName(canonicalBytes: name.canonicalBytes))
    #expect(read == name && read.canonicalBytes == name.canonicalBytes)
  }

  @Test func `the canonical encoding is that of the format`() throws {
    let name = try ItemName("id", in: StoreNamespace(service: "s", accessGroup: "gr"))
    #expect(
      name.canonicalBytes
        == [1, 1, 0, 0, 0, 0x73, 1, 2, 0, 0, 0, 0x67, 0x72, 0, 1, 2, 0, 0, 0, 0x69, 0x64])
    #expect(name.canonicalByteCount == 21)
    let long = try ItemName(String(repeating: "a", count: 300), in: "s")
    #expect(Array(long.canonicalBytes[8..<13]) == [1, 44, 1, 0, 0])
    #expect(long.canonicalByteCount == long.canonicalBytes.count)
  }

  @Test func `a truncation, an extension or a flag other than 0 and 1 is not an encoding`() throws {
    let name = try ItemName(
      "id",
      in: StoreNamespace(
        service: "s", accessGroup: "g", install: InstallIdentifier(rawValue: "i")))
    let bytes = name.canonicalBytes
    for count in 0..<bytes.count {
      #expect(ItemName(canonicalBytes: Array(bytes.prefix(count))) == nil)
    }
    #expect(ItemName(canonicalBytes: bytes + [0]) == nil)
    var wrongFlag = bytes
    wrongFlag[0] = 2
    #expect(ItemName(canonicalBytes: wrongFlag) == nil)
  }

  @Test(arguments: malformedEncodings)
  func `a malformed encoding is not a name`(bytes: [UInt8]) {
    #expect(ItemName(canonicalBytes: bytes) == nil)
  }

  @Test func `names are ordered by their parts, absent ones first`() throws {
    let plain: StoreNamespace = "b"
    let grouped = try StoreNamespace(service: "b", accessGroup: "a")
    let installed = try plain.with(install: InstallIdentifier(rawValue: "a"))
    let ordered = [
      try ItemName("z", in: "a"), try ItemName("a", in: plain), try ItemName("b", in: plain),
      try ItemName("a", in: installed), try ItemName("a", in: grouped),
    ]
    #expect(ordered.shuffled().sorted() == ordered)
  }

  @Test(arguments: ["", "item 1", "ä"])
  func `many names of one namespace are ordered byte for byte`(beginning: String) throws {
    let endings = [
      "0", "0\u{0}", "0\u{0}\u{0}a", "00000000", "000000000", "00000001", "000000010", "Z", "a",
      "é",
      "e\u{301}", "漢", "😀", "\u{ffff}",
    ]
    let namespace: StoreNamespace = "many"
    let ordered = try endings.map { beginning + $0 }.sorted {
      $0.utf8.lexicographicallyPrecedes($1.utf8)
    }
    .map { try ItemName($0, in: namespace) }
    for _ in 0..<100 {
      var names = ordered.shuffled()
      names.sortUnlessAscending()
      #expect(names == ordered)
    }
    // A name that others continue.
    guard !beginning.isEmpty else { return }
    var names = try [ordered[0], ItemName(beginning, in: namespace)]
    names.sortUnlessAscending()
    #expect(names.map(\.identifier) == [beginning, ordered[0].identifier])
  }

  @Test func `a name's description has its parts`() throws {
    let namespace = try StoreNamespace(
      service: "mail", accessGroup: "team", install: InstallIdentifier(rawValue: "i1"))
    #expect(
      try ItemName("user", in: namespace).description
        == "user of mail, group team, install i1")
    #expect(try ItemName("user", in: "mail").moved(to: namespace).namespace == namespace)
    #expect(
      try namespace.with(install: nil) == StoreNamespace(service: "mail", accessGroup: "team"))
  }
}
