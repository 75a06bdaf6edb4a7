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

@Suite struct `names and keys` {
  let composed = "caf\u{E9}"
  let decomposed = "cafe\u{301}"

  @Test func `composed and decomposed text are different names`() throws {
    #expect(composed == decomposed, "Swift regards them as equal")
    #expect(try StoreNamespace(service: composed) != StoreNamespace(service: decomposed))
    let namespace: StoreNamespace = "service"
    #expect(try StoreKey(composed, in: namespace) != StoreKey(decomposed, in: namespace))
    #expect(InstallIdentifier(rawValue: composed) != InstallIdentifier(rawValue: decomposed))
    let keys: Set = [
      try StoreKey(composed, in: namespace), try StoreKey(decomposed, in: namespace),
    ]
    #expect(keys.count == 2)
    let installs: Set = [
      InstallIdentifier(rawValue: composed), InstallIdentifier(rawValue: decomposed),
    ]
    #expect(installs.count == 2)
  }

  @Test func `moving a letter from one part to the next makes another key`() throws {
    let first = try StoreKey(
      "x", in: StoreNamespace(service: "s", install: InstallIdentifier(rawValue: "a")))
    let texts = [("a", "bc"), ("ab", "c"), ("abc", nil)]
    let keys = try texts.map { service, group in
      try StoreKey("x", in: StoreNamespace(service: service, accessGroup: group))
    }
    #expect(Set(keys).count == 3)
    #expect(Set(keys.map(\.canonicalBytes)).count == 3)
    let asGroup = try StoreKey("x", in: StoreNamespace(service: "s", accessGroup: "a"))
    #expect(first != asGroup && first.canonicalBytes != asGroup.canonicalBytes)
  }

  @Test(arguments: ["", String(repeating: "a", count: 4097), String(repeating: "é", count: 2049)])
  func `a part that is empty or longer than 4,096 bytes is refused`(text: String) throws {
    expectFailure(StoreError.invalidName) { try StoreNamespace(service: text) }
    expectFailure(StoreError.invalidName) { try StoreNamespace(service: "s", accessGroup: text) }
    expectFailure(StoreError.invalidName) {
      try StoreNamespace(service: "s", install: InstallIdentifier(rawValue: text))
    }
    expectFailure(StoreError.invalidName) { try StoreKey(text, in: "s") }
  }

  @Test(arguments: [1, 4095, 4096])
  func `a part of 1 to 4,096 bytes is accepted`(byteCount: Int) throws {
    let text = String(repeating: "a", count: byteCount)
    let key = try StoreKey(text, in: StoreNamespace(service: text, accessGroup: text))
    #expect(key.identifier == text)
    #expect(key.namespace.accessGroup == text)
    #expect(StoreKey(canonicalBytes: key.canonicalBytes) == key)
  }

  @Test(arguments: ["/", "..", "\n", "\0", " ", "é", "e\u{301}", "🗝️", "\u{FEFF}"])
  func `any text is kept byte for byte`(text: String) throws {
    let namespace = try StoreNamespace(
      service: text, accessGroup: text, install: InstallIdentifier(rawValue: text))
    let key = try StoreKey(text, in: namespace)
    #expect(Array(key.identifier.utf8) == Array(text.utf8))
    #expect(Array(key.namespace.service.utf8) == Array(text.utf8))
    let read = try #require(StoreKey(canonicalBytes: key.canonicalBytes))
    #expect(read == key && read.canonicalBytes == key.canonicalBytes)
  }

  @Test func `the canonical encoding is that of the format`() throws {
    let key = try StoreKey("id", in: StoreNamespace(service: "s", accessGroup: "gr"))
    #expect(
      key.canonicalBytes
        == [1, 1, 0, 0, 0, 0x73, 1, 2, 0, 0, 0, 0x67, 0x72, 0, 1, 2, 0, 0, 0, 0x69, 0x64])
    #expect(key.canonicalByteCount == 21)
    let long = try StoreKey(String(repeating: "a", count: 300), in: "s")
    #expect(Array(long.canonicalBytes[8..<13]) == [1, 44, 1, 0, 0])
    #expect(long.canonicalByteCount == long.canonicalBytes.count)
  }

  @Test func `a truncation, an extension or a flag other than 0 and 1 is not an encoding`() throws {
    let key = try StoreKey(
      "id",
      in: StoreNamespace(
        service: "s", accessGroup: "g", install: InstallIdentifier(rawValue: "i")))
    let bytes = key.canonicalBytes
    for count in 0..<bytes.count {
      #expect(StoreKey(canonicalBytes: Array(bytes.prefix(count))) == nil)
    }
    #expect(StoreKey(canonicalBytes: bytes + [0]) == nil)
    var wrongFlag = bytes
    wrongFlag[0] = 2
    #expect(StoreKey(canonicalBytes: wrongFlag) == nil)
  }

  @Test(arguments: malformedEncodings)
  func `a malformed encoding is not a key`(bytes: [UInt8]) {
    #expect(StoreKey(canonicalBytes: bytes) == nil)
  }

  @Test func `keys are ordered by their parts, absent ones first`() throws {
    let plain: StoreNamespace = "b"
    let grouped = try StoreNamespace(service: "b", accessGroup: "a")
    let installed = try plain.with(install: InstallIdentifier(rawValue: "a"))
    let ordered = [
      try StoreKey("z", in: "a"), try StoreKey("a", in: plain), try StoreKey("b", in: plain),
      try StoreKey("a", in: installed), try StoreKey("a", in: grouped),
    ]
    #expect(ordered.shuffled().sorted() == ordered)
  }

  @Test(arguments: ["", "item 1", "ä"])
  func `many keys of one namespace are ordered byte for byte`(beginning: String) throws {
    let endings = [
      "0", "0\u{0}", "0\u{0}\u{0}a", "00000000", "000000000", "00000001", "000000010", "Z", "a",
      "é",
      "e\u{301}", "漢", "😀", "\u{ffff}",
    ]
    let namespace: StoreNamespace = "many"
    let ordered = try endings.map { beginning + $0 }.sorted {
      $0.utf8.lexicographicallyPrecedes($1.utf8)
    }
    .map { try StoreKey($0, in: namespace) }
    for _ in 0..<100 {
      var keys = ordered.shuffled()
      keys.sortUnlessAscending()
      #expect(keys == ordered)
    }
    // A name that others continue.
    guard !beginning.isEmpty else { return }
    var keys = try [ordered[0], StoreKey(beginning, in: namespace)]
    keys.sortUnlessAscending()
    #expect(keys.map(\.identifier) == [beginning, ordered[0].identifier])
  }

  @Test func `a key's description has its parts`() throws {
    let namespace = try StoreNamespace(
      service: "mail", accessGroup: "team", install: InstallIdentifier(rawValue: "i1"))
    #expect(
      try StoreKey("user", in: namespace).description
        == "user of mail, group team, install i1")
    #expect(try StoreKey("user", in: "mail").moved(to: namespace).namespace == namespace)
    #expect(
      try namespace.with(install: nil) == StoreNamespace(service: "mail", accessGroup: "team"))
  }
}
