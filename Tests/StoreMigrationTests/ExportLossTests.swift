import Foundation
import SessionToolsBase
import SessionToolsCommand
import StoreMigration
import SessionToolsTestThreads
import Testing

/// What exports have and their items leave out: every loss by the name of its entry.
@Suite(.onOwnThread) struct ExportLossTests {
  /// Returns `name, part` of everything that a source leaves out.
  private func losses(_ store: ReadOnlyItems) throws -> [String] {
    let listing = try store.listing()
    #expect(listing.damage == nil)
    return listing.omissions.map { omission in
      #expect(!omission.reason.isEmpty && !omission.reason.hasSuffix("."))
      return omission.name + (omission.part.map { ", \($0)" } ?? "")
    }
  }

  private func texts(_ store: ReadOnlyItems) throws -> [String: String] {
    var texts: [String: String] = [:]
    for name in try store.listing().names {
      let value = try #require(try store.value(for: name))
      texts["\(name.namespace.service) \(name.identifier)"] =
        String(decoding: value.copyBytes(), as: UTF8.self)
    }
    return texts
  }

  // MARK: KeePass

  private func keePass(_ content: String, meta: String = "") throws -> ReadOnlyItems {
    let text =
      "<KeePassFile><Meta><Generator>x</Generator>\(meta)</Meta><Root><Group><UUID>1</UUID>"
      + "<Name>Root</Name>\(content)</Group><DeletedObjects><DeletedObject><UUID>x</UUID>"
      + "</DeletedObject></DeletedObjects></Root></KeePassFile>"
    return try KeePassXML.items(SecretBytes(utf8: text), name: "file")
  }

  private func entry(_ title: String, _ more: String = "") -> String {
    "<Entry><UUID>2</UUID><String><Key>Title</Key><Value>\(title)</Value></String>\(more)</Entry>"
  }

  private func data(_ name: String, _ value: String) -> String {
    "<CustomData><Item><Key>\(name)</Key><Value>\(value)</Value></Item></CustomData>"
  }

  @Test func `attachments are named, each by its file and its entry`() throws {
    let files = ["a.pdf", "b c"].map { "<Binary><Key>\($0)</Key><Value Ref='0'/></Binary>" }
    let store = try keePass(
      entry("t", files.joined()) + "<Group><Name>g</Name>\(entry("t", files[0]))</Group>")
    #expect(
      try losses(store) == ["t, attachment a.pdf", "t, attachment b c", "g/t, attachment a.pdf"])
  }

  @Test func `tags, expiry, a URL and auto-type become items`() throws {
    let more = """
      <Tags>a;b</Tags><OverrideURL>cmd://x</OverrideURL><ForegroundColor>#FF0000</ForegroundColor>
      <QualityCheck>False</QualityCheck><IconID>3</IconID>
      <Times><CreationTime>2024</CreationTime><Expires>True</Expires>
      <ExpiryTime>2027-01-02T03:04:05Z</ExpiryTime><UsageCount>7</UsageCount></Times>
      <AutoType><Enabled>True</Enabled><DataTransferObfuscation>0</DataTransferObfuscation>
      <DefaultSequence>{TAB}</DefaultSequence><Association><Window>W*</Window>
      <KeystrokeSequence>{ENTER}</KeystrokeSequence></Association></AutoType>
      <History>\(entry("old", "<Tags>old</Tags>"))</History>
      """
    let store = try keePass(entry("t", more))
    #expect(try losses(store) == [])
    #expect(
      try texts(store) == [
        "t tags": "a;b", "t override-url": "cmd://x", "t expires": "2027-01-02T03:04:05Z",
        "t auto-type": "{TAB}", "t auto-type W*": "{ENTER}",
      ])
  }

  @Test(arguments: [
    ("False", "2027-01-02T03:04:05Z", nil), ("True", "JWDK4g4AAAA=", "2027-01-02T03:04:05Z"),
    ("True", "AAAAAAAAAAA=", "AAAAAAAAAAA="), ("True", "soon", "soon"),
  ])
  func `an expiry is a time that people read, and none if the entry does not expire`(
    _ expires: String, _ time: String, _ found: String?
  ) throws {
    let times = "<Times><Expires>\(expires)</Expires><ExpiryTime>\(time)</ExpiryTime></Times>"
    #expect(try texts(keePass(entry("t", times)))["t expires"] == found)
  }

  @Test func `an entry of only a name, and a person's field without a value, are kept`() throws {
    let field = "<String><Key>PIN</Key><Value/></String>"
    let standard = "<String><Key>Notes</Key><Value/></String>"
    let store = try keePass(entry("a", standard) + entry("b", field) + "<Entry/>")
    #expect(try texts(store) == ["a notes": "", "b PIN": "", "untitled password": ""])
    #expect(try losses(store) == [])
  }

  @Test func `text in unknown elements is a loss at every level, and a flag is not`() throws {
    let flags = "<Flag>True</Flag><Other>null</Other><Empty/><Blank> \n </Blank>"
    let store = try keePass(
      "\(flags)<X><Y>text</Y></X>"
        + entry("t", "\(flags)<New a='text'/><CustomData/>stray\(data("plugin", "value"))")
        + entry("u", data("_LAST_MODIFIED", "Sat") + data("BrowserHideEntry", "true")),
      meta: "\(flags)<DatabaseName>n</DatabaseName><DatabaseDescription/>"
        + data("own", "v") + data("KPXC_RANDOM_SLUG", "abc")
        + "<CustomIcons><Icon><Data>AAAA</Data></Icon></CustomIcons><Binaries>x</Binaries>")
    #expect(
      try losses(store) == [
        "t, New", "t, text", "t, custom data plugin", "Root, X", "the database, custom data own",
      ])
  }

  @Test func `what groups have besides entries is left out by the group's path`() throws {
    let more = """
      <Notes>n</Notes><Tags>a</Tags><IsExpanded>True</IsExpanded>
      <EnableAutoType>null</EnableAutoType><LastTopVisibleEntry>AAAA</LastTopVisibleEntry>
      <DefaultAutoTypeSequence>{TAB}</DefaultAutoTypeSequence>
      <Times><Expires>True</Expires><ExpiryTime>2027</ExpiryTime></Times>\(data("k", "v"))
      """
    let store = try keePass(
      "<Notes>n</Notes><Group><Name>a</Name><Group><Name>b</Name>\(more)\(entry("t"))</Group>"
        + "</Group><Group><UUID>9</UUID><Name>Bin</Name></Group><Group><Name>empty</Name></Group>",
      meta: "<RecycleBinUUID>9</RecycleBinUUID>")
    #expect(
      try losses(store) == [
        "a/b, Notes", "a/b, Tags", "a/b, DefaultAutoTypeSequence", "a/b, expiry 2027",
        "a/b, custom data k", "Root, Notes",
      ])
  }

  @Test func `groups without entries are no loss unless a person wrote something about one`() throws
  {
    let empty = ["General", "Windows", "eMail"].map {
      "<Group><UUID>\($0)</UUID><Name>\($0)</Name><Notes/><IconID>48</IconID></Group>"
    }
    let store = try keePass(
      entry("t") + empty.joined() + "<Group><Name>Bin</Name><Notes>n</Notes></Group>")
    #expect(try losses(store) == ["Bin, Notes"])
    #expect(try losses(keePass(empty.joined())) == [])
  }

  @Test func `what KeePassXC notes for browsers and for the Secret Service is no loss`() throws {
    let meta = data("KPXC_BROWSER_work", "a2V5") + data("FDO_SECRETS_EXPOSED_GROUP", "{ab-cd}")
    #expect(try losses(keePass(entry("t"), meta: meta)) == [])
  }

  @Test func `a field whose name is not valid is left out, and the rest of the entry is kept`()
    throws
  {
    let long = String(repeating: "x", count: 4097)
    let store = try keePass(
      entry(
        "t",
        "<String><Key>\(long)</Key><Value>v</Value></String><String><Key>Password</Key>"
          + "<Value>p</Value></String>"))
    #expect(try texts(store) == ["t password": "p"])
    #expect(try losses(store).count == 1)
  }

  @Test func `empty lines of a CSV export are no rows`() throws {
    let text =
      "\n\r\nGroup,Title,Username,Password\n\nR,t,u,p\r\n\r\n,,,\nR,v,,q\n\n\n"
    let store = try KeePassCSV.items(SecretBytes(utf8: text), name: "file")
    #expect(try texts(store) == ["t username": "u", "t password": "p", "v password": "q"])
  }

  // MARK: Bitwarden

  private func bitwarden(_ items: String, _ more: String = "") throws -> ReadOnlyItems {
    try BitwardenExport.items(
      SecretBytes(utf8: "{\"encrypted\": false\(more), \"items\": [\(items)]}"), name: "file")
  }

  @Test func `passkeys and attachments are named, each by its site or file`() throws {
    let store = try bitwarden(
      """
      {"type": 1, "name": "n", "login": {"password": "p", "fido2Credentials": [
        {"rpId": "a.example", "keyValue": "k"}, {"rpId": "b.example"}]},
        "attachments": [{"id": "1", "fileName": "a.pdf", "url": "u"}]},
      {"type": 1, "name": "m", "login": {"fido2Credentials": [{"rpId": "c.example"}]}}
      """)
    #expect(
      try losses(store) == [
        "n, attachment a.pdf", "n, passkey a.example", "n, passkey b.example",
        "m, passkey c.example",
      ])
    #expect(try texts(store) == ["n password": "p", "m password": ""])
  }

  @Test func `unknown members with text are losses at every level`() throws {
    let store = try bitwarden(
      """
      {"id": "1", "object": "item", "type": 1, "name": "n", "favorite": true, "reprompt": 1,
        "key": null, "new": {"a": [{"b": "text"}]}, "flag": false, "count": 0, "pin": 7,
        "secureNote": {"type": 0, "x": "y"}, "creationDate": "2024", "archivedDate": "2024",
        "passwordHistory": [{"password": "old"}],
        "fields": [{"name": "f", "value": "v", "type": 0, "linkedId": null, "hint": "h"}],
        "login": {"username": "u", "passwordRevisionDate": "2024", "recovery": "r",
          "uris": [{"uri": "1", "match": 3, "uriChecksum": "c"}, {"uri": "2", "label": "l"}]}},
      {"type": 9, "name": "o", "hologram": {"a": "b"}}
      """,
      """
      , "policies": ["p"], "folders": [{"id": "f", "name": "F", "owner": "me"},
        {"id": null, "name": "No Folder"}],
      "collections": [{"id": "c", "name": "C", "externalId": "e", "note": "n"}]
      """)
    #expect(
      try losses(store) == [
        "n, new", "n, pin", "n, login.recovery", "n, login.uris[1].label", "n, fields[0].hint",
        "n, secureNote.x", "o, kind 9", "o, hologram",
        "the export, policies", "the export, folders[0].owner", "the export, collections[0].note",
      ])
  }

  @Test func `a folder is in the names of its items, and is no loss without any`() throws {
    let store = try bitwarden(
      #"{"type": 2, "name": "n", "folderId": "g"},"#
        + #"{"type": 2, "name": "", "collectionIds": ["c"]}"#,
      """
      , "folders": [{"id": "f", "name": "F"}, {"id": "g", "name": "F/G"},
        {"id": "e", "name": "empty"}],
      "collections": [{"id": "c", "name": "C"}, {"id": "d", "name": "empty"}]
      """)
    #expect(try losses(store) == [])
    #expect(try texts(store) == ["F/G/n notes": "", "C notes": ""])
  }

  @Test func `a linked field has the value of the field that it shows`() throws {
    let store = try bitwarden(
      """
      {"type": 1, "name": "n", "login": {"username": "u", "password": "p"}, "fields": [
        {"name": "a", "value": null, "type": 3, "linkedId": 100},
        {"name": "b", "value": null, "type": 3, "linkedId": 101},
        {"name": "c", "value": null, "type": 3, "linkedId": 999}]},
      {"type": 3, "name": "k", "card": {"number": "4"}, "fields": [
        {"name": "a", "type": 3, "linkedId": 305}]},
      {"type": 4, "name": "i", "identity": {"firstName": "F", "lastName": "L"}, "fields": [
        {"name": "a", "type": 3, "linkedId": 418}]}
      """)
    let texts = try texts(store)
    #expect(texts["n a"] == "u" && texts["n b"] == "p" && texts["n c"] == "")
    #expect(texts["k a"] == "4" && texts["i a"] == "F L")
  }

  // MARK: Python's keyring

  @Test func `a name that is too long is left out, and the other items are read`() throws {
    let long = String(repeating: "x", count: 4097)
    let text = "[s]\n\(long) = eA==\nu = eQ==\n[\(long)]\nu = eA==\nv = eA==\n"
    let store = try KeyringFile.items(SecretBytes(utf8: text), name: "file")
    #expect(try texts(store) == ["s u": "y"])
    #expect(try losses(store).count == 3)
  }
}
