import Foundation
import SessionToolsBase
import SessionToolsCommand
import StoreMigration
import SessionToolsTestThreads
import Testing

/// The exports of other programs, and files that only look like them.
@Suite(.onOwnThread) struct ExportTests {
  /// A parser of a whole file.
  private typealias Parser = (SecretBytes, String) throws(StoreError) -> ReadOnlyItems

  /// Returns the values by their names: `service identifier`.
  private func items(_ text: String, _ parse: Parser) throws -> [String: String] {
    let store = try parse(SecretBytes(utf8: text), "file")
    var items: [String: String] = [:]
    for name in try store.listing().names {
      let value = try #require(try store.value(for: name))
      items["\(name.namespace.service) \(name.identifier)"] =
        String(decoding: value.copyBytes(), as: UTF8.self)
    }
    return items
  }

  /// Returns what an error says about a file that holds the word geheim.
  private func complaint(_ text: String, _ parse: Parser) -> String? {
    do throws(StoreError) {
      _ = try parse(SecretBytes(utf8: text), "file")
      return nil
    } catch {
      #expect(!"\(error)".contains("geheim"))
      return "\(error.store): \(error.reason)"
    }
  }

  // MARK: CSV

  /// The first line of KeePassXC, which quotes every field.
  private let header = """
    "Group","Title","Username","Password","URL","Notes","TOTP","Icon","Last Modified","Created"

    """

  @Test func `a CSV export has quotes, lines and commas in its fields`() throws {
    let written = """
      "R","v","","p","","","otpauth://totp/v","0","2026-02-17T16:55:23Z","2026-02-17T16:55:23Z"

      """
    let text =
      "\u{FEFF}" + header + "\"R/a b/c\",\"t\",\"u\",\"1\"\"2,3\r\n4\",,\"\",otp,0,x,y\r\n"
      + "R,,u,\"\",,,,0,x,y\n" + written
    #expect(
      try items(text, KeePassCSV.items) == [
        "a b/c/t username": "u", "a b/c/t password": "1\"2,3\r\n4", "a b/c/t otp": "otp",
        "untitled username": "u", "v password": "p", "v otp": "otpauth://totp/v",
      ])
  }

  @Test func `columns of later versions are kept, and the last line needs no end`() throws {
    let text = "Title,Group,Password,Username,Tags\nt,R,p,,x"
    #expect(try items(text, KeePassCSV.items) == ["t password": "p", "t Tags": "x"])
  }

  @Test func `entries of one name are all kept`() throws {
    let text =
      "Group,Title,Username,Password\nR,t,,1\nR,t (2),,2\nR,t,,3\nR,t,,4\nR/t,,,5\nR,empty,,\n"
    #expect(
      try items(text, KeePassCSV.items) == [
        "t password": "1", "t (2) password": "2", "t (3) password": "3", "t (4) password": "4",
        "t (5) password": "5", "empty password": "",
      ])
  }

  @Test(arguments: [
    ("Group,Title", "line 1: it does not name the columns"),
    ("Group,Title,Username,Password,Title\n", "line 1: two columns have the same name"),
    ("Group,Title,Username,Password\nR,t,\"u\"geheim,p\n", "line 2: a field goes on after"),
    ("Group,Title,Username,Password\n\"\n\",t,u,p\nR,t,u,ge\"heim\n", "line 4: there is a quote"),
    ("Group,Title,Username,Password\nR,t,u,\"geheim", "line 2: a quote is not closed"),
    ("Group,Title,Username,Password\nR,t,u,geheim,x\n", "line 2: the number of fields is 5"),
    ("Group,Title,Username,Password\n\nx\n", "line 3: the number of fields is 1"),
    ("Group,Title,Username,Password\nR,t,u,geheim\rx\n", "line 2: a field goes on after"),
  ])
  func `CSV that is not well-formed is refused`(_ text: String, _ reason: String) {
    #expect(complaint(text, KeePassCSV.items)?.hasPrefix("file, \(reason)") == true)
  }

  @Test func `an entry whose name is too long is reported, and the others are read`() throws {
    let title = String(repeating: "x", count: 4097)
    let text = "Group,Title,Username,Password\nR,\(title),u,p\nR,t,u,p\n"
    let store = try KeePassCSV.items(SecretBytes(utf8: text), name: "file")
    let listing = try store.listing()
    #expect(listing.names.map(\.identifier) == ["password", "username"])
    #expect(listing.omissions.count == 1 && listing.damage == nil)
    #expect(listing.omissions[0].name.hasPrefix("xxxx"))
    #expect(listing.omissions[0].reason.hasPrefix("the service name has 4097 bytes"))
  }

  @Test(arguments: [
    "name,url,username,password,note\nn,https://a/x,u,\"p,\",\n,https://b.example:8/x,v,q,n\n",
    "Title,URL,Username,Password,Notes,OTPAuth\n"
      + "n,https://a/x,u,\"p,\",,\n,https://b.example:8/x,v,q,n,\n",
    "\"url\",\"username\",\"password\",\"httpRealm\",\"formActionOrigin\",\"guid\",title,note\n"
      + "https://a/x,u,\"p,\",,f,{1},n,\nhttps://b.example:8/x,v,q,,f,{2},,n\n",
  ])
  func `browsers' exports name the columns in their own ways`(_ text: String) throws {
    #expect(
      try items(text, BrowserCSV.items) == [
        "n url": "https://a/x", "n username": "u", "n password": "p,",
        "b.example url": "https://b.example:8/x", "b.example username": "v",
        "b.example password": "q", "b.example notes": "n",
      ])
  }

  // MARK: Files that programs keep

  @Test func `profiles of AWS have keys with all characters, comments and settings of lines`()
    throws
  {
    let text = """
      # a comment
      [default]
      aws_access_key_id = AKIA
      AWS_Secret_Access_Key=a/b+c==#d
      ; another
      s3 =
        max_queue_size = 1

      [work account]
      aws_access_key_id: geheim
      """
    #expect(
      try items(text, AWSCredentials.items) == [
        "aws/default aws_access_key_id": "AKIA", "aws/default aws_secret_access_key": "a/b+c==#d",
        "aws/work account aws_access_key_id": "geheim",
      ])
    let store = try AWSCredentials.items(SecretBytes(utf8: text), name: "file")
    #expect(try store.listing().omissions.map(\.part) == ["s3"])
  }

  @Test(arguments: [
    ("[a]\naws_access_key_id=1\ngeheim\n", "line 3: it is no setting"),
    ("[a]\naws_access_key_id=1\n[a]\n", "line 3: the profile is already"),
    ("[a]\naws_access_key_id=1\naws_access_key_id=geheim\n", "line 3: the setting has no name"),
    ("[a] aws_access_key_id=geheim\n", "line 1: something follows"),
    ("region=a\naws_access_key_id=geheim\n", "line 1: a setting is in no profile"),
    ("[x\naws_access_key_id=geheim\n", "line 1: a profile has no name"),
  ])
  func `a file of AWS that is not well-formed is refused`(_ text: String, _ reason: String) {
    #expect(complaint(text, AWSCredentials.items)?.hasPrefix("file, \(reason)") == true)
  }

  @Test func `what programs of AWS read in different ways is left out`() throws {
    let text = """
      [a]
        aws_access_key_id = AKIA # mine
        aws_secret_access_key = "quoted"
        aws_session_token = t\tu
      [b] ; empty
      """
    let store = try AWSCredentials.items(SecretBytes(utf8: text), name: "file")
    #expect(try items(text, AWSCredentials.items) == ["aws/a aws_session_token": "t\tu"])
    #expect(
      try store.listing().omissions.map(\.part) == ["aws_access_key_id", "aws_secret_access_key"])
    let lines = text.replacing("\n", with: "\r")
    #expect(try items(lines, AWSCredentials.items) == ["aws/a aws_session_token": "t\tu"])
  }

  @Test func `netrc has words in any lines, quotes, comments and macros`() throws {
    let text = """
      machine a.example login ada password "a \\"b\\nc" account x
      # machine b.example password no
      machine a.example
        user bob passwd #1
      macdef init
      machine c.example password no

      machine machine login login password password port 993 # a comment
      machine m2 password macdef
      login "macdef"
      default login anonymous
      """
    #expect(
      try items(text, Netrc.items) == [
        "a.example username": "ada", "a.example password": "a \"b\nc", "a.example account": "x",
        "a.example (2) username": "bob", "a.example (2) password": "#1",
        "machine username": "login", "machine password": "password", "machine port": "993",
        "m2 password": "macdef", "m2 username": "macdef",
        "default username": "anonymous",
      ])
    let store = try Netrc.items(SecretBytes(utf8: text), name: "file")
    #expect(try store.listing().omissions.map(\.part) == ["the macro init"])
  }

  @Test(arguments: [
    ("machine a login u password ge heim\n", "line 1: a word is not"),
    ("machine a login\n", "line 1: nothing follows login"),
    ("machine a login u password\nmachine geheim\n", "line 1: nothing follows password"),
    ("machine a password \"geheim\n", "line 1: a quote is not closed"),
    ("# c\nlogin u password geheim\n", "line 2: it is of no machine"),
  ])
  func `netrc that is not well-formed is refused`(_ text: String, _ reason: String) {
    #expect(complaint(text, Netrc.items)?.hasPrefix("file, \(reason)") == true)
  }

  @Test func `gh's file has several users, and tokens that are elsewhere`() throws {
    let text = """
      github.com:
          git_protocol: https
          users:
              ada:
                  oauth_token: gho_1
              "bob":
          user: ada
          oauth_token: gho_1
      ghe.example.com:
          oauth_token: 'gho_''2'
          user: eve
      """
    #expect(
      try items(text, GitHubHosts.items) == [
        "gh:github.com ada": "gho_1", "gh:ghe.example.com eve": "gho_'2",
      ])
    let store = try GitHubHosts.items(SecretBytes(utf8: text), name: "file")
    #expect(try store.listing().omissions.map(\.part) == ["bob"])
  }

  @Test(
    arguments: [
      (
        "github.com: # work\n  oauth_token: b # new\n  user: ada\n  users:\n    ada:\n"
          + "      oauth_token: a\n", ["gh:github.com ada": "b"], ["ada"]
      ),
      ("h:\n  oauth_token: b\n  users:\n    ada: {}\n", ["gh:h x-access-token": "b"], ["ada"]),
      ("h:\n  oauth_token: ~\n  api_token: x\n  user: ada\n", [:], ["api_token", "ada"]),
      ("hosts:\n  h:\n    oauth_token: b\n    user: \"ada\"\n", ["gh:h ada": "b"], []),
      ("h:\n  oauth_token: # in the keyring\n  user: ada\n", [:], ["ada"]),
    ] as [(String, [String: String], [String])])
  func `no token of gh's file is lost, and nothing else is taken for one`(
    _ text: String, _ expected: [String: String], _ omitted: [String]
  ) throws {
    #expect(try items(text, GitHubHosts.items) == expected)
    let store = try GitHubHosts.items(SecretBytes(utf8: text), name: "file")
    #expect(try store.listing().omissions.map { $0.part ?? $0.name } == omitted)
  }

  @Test(arguments: [
    ("git_protocol: https\naliases:\n    co: pr checkout geheim\n", ": it names no host"),
    ("github.com:\n    oauth_token: [geheim]\n", "line 2: its value is of no form"),
    ("github.com:\n    oauth_token: geheim\n  user: a\n", "line 3: its indentation"),
    ("github.com:\n    oauth_token: a\n    oauth_token: geheim\n", "line 3: it is already"),
    ("github.com:\n    oauth_token: a\n      b: geheim\n", "line 2: it goes on"),
    ("github.com:\n    oauth_token: a\n    - geheim\n", "line 3: it is no line"),
  ])
  func `what gh does not write is refused`(_ text: String, _ reason: String) {
    let found = complaint(text, GitHubHosts.items) ?? ""
    #expect(found.hasPrefix("file, \(reason)") || found.hasPrefix("file\(reason)"), "\(found)")
  }

  // MARK: XML

  private func database(_ content: String) -> String {
    "<?xml version=\"1.0\"?>\r\n<KeePassFile><Meta><Generator>x</Generator></Meta><Root><Group>"
      + "<UUID>1</UUID><Name>Root</Name>\(content)</Group><DeletedObjects/></Root></KeePassFile>\n"
  }

  private func entry(_ fields: [(String, String)], _ more: String = "") -> String {
    let strings = fields.map { "<String><Key>\($0)</Key><Value>\($1)</Value></String>" }
    return "<Entry><UUID>2</UUID>\(strings.joined())\(more)</Entry>"
  }

  @Test func `an XML export has groups, fields of a person's own, and characters of all kinds`()
    throws
  {
    let old = "<History>\(entry([("Title", "t"), ("Password", "old")]))</History>"
    let text = database(
      "<!-- c -->" + entry([("Password", "&lt;&#x1F511;&#38;amp;\r\n&#13;"), ("Title", "t")], old)
        + "<Group><Name>g</Name><Group><Name>h &amp; i</Name>"
        + entry([("Title", ""), ("PIN", "<![CDATA[<&amp;]]>"), ("Notes", "")]) + "</Group></Group>")
    #expect(
      try items(text, KeePassXML.items) == [
        "t password": "<🔑&amp;\n\r", "g/h & i PIN": "<&amp;",
      ])
  }

  @Test func `values that are only protected in memory are read`() throws {
    let text = database(
      "<Entry><String><Key>Password</Key><Value ProtectInMemory=\"True\">p</Value></String>"
        + "<String><Key>Title</Key><Value>t</Value></String><String><Key>Notes</Key>"
        + "<Value ProtectInMemory=\"True\"/></String><History/></Entry>")
    #expect(try items(text, KeePassXML.items) == ["t password": "p"])
  }

  @Test(arguments: [
    ("<KeePassFile>\n<Root>\n</Roo>", "line 3: an element does not end where it should"),
    ("<KeePassFile><a>geheim", "line 1: the document is not complete"),
    ("<!DOCTYPE x SYSTEM \"/etc/passwd\">\n<KeePassFile/>", "line 1: this is not the XML"),
    ("<KeePassFile>&geheim;</KeePassFile>", "line 1: a reference stands for no character"),
    ("<KeePassFile>&#xD800;</KeePassFile>", "line 1: a reference stands for no character"),
    ("<KeePassFile>&#+65;</KeePassFile>", "line 1: a reference stands for no character"),
    ("<KeePassFile a='1' a='2'/>", "line 1: an element has an attribute twice"),
    ("<KeePassFile a='1'b='2'/>", "line 1: an element's start does not end"),
    ("<KeePassFile a=geheim/>", "line 1: the value of an attribute is not quoted"),
    ("<KeePassFile a/>", "line 1: an attribute has no value"),
    ("<KeePassFile a='geheim", "line 1: the value of an attribute does not end"),
    ("<KeePassFile/><KeePassFile/>", "line 1: there is a second document"),
    ("<KeePassFile/>geheim", "line 1: there is text outside"),
    ("<KeePassFile><!-- geheim", "line 1: a comment or a section is not closed"),
    ("<Database/>", "line 1: this is not an XML export"),
  ])
  func `XML that is not well-formed is refused`(_ text: String, _ reason: String) {
    #expect(complaint(text, KeePassXML.items)?.hasPrefix("file, \(reason)") == true)
  }

  @Test func `values that are still encrypted are refused`() {
    let text = database(
      "<Entry><String><Key>Password</Key><Value Protected='True'>geheim</Value></String></Entry>")
    #expect(
      complaint(text, KeePassXML.items) == "file, line 2: a value is encrypted, as in no export")
  }

  @Test func `groups within groups without end are refused`() {
    let text = database(String(repeating: "<Group>", count: 100_000))
    #expect(complaint(text, KeePassXML.items)?.contains("more than 200 elements") == true)
  }

  // MARK: Bitwarden

  @Test func `a Bitwarden export has folders, collections and all kinds of items`() throws {
    let text = """
      {"folders": [{"id": "f", "name": "A/B"}], "items": [
        {"type": 1, "name": "n", "folderId": "f", "login": {"username": "u",
          "password": "p", "totp": "o", "uris": [{"match": null, "uri": "1"}, {"uri": "2"}],
          "fido2Credentials": []},
          "fields": [{"name": "password", "value": "q", "type": 1}, {"name": null, "value": "r"}],
          "passwordHistory": [{"password": "old"}]},
        {"type": 5, "name": "k", "sshKey": {"privateKey": "s", "publicKey": "t"}},
        {"type": 2, "name": null, "notes": "text", "collectionIds": ["x", "f"]}]}
      """
    #expect(
      try items(text, BitwardenExport.items) == [
        "A/B/n username": "u", "A/B/n password": "p", "A/B/n otp": "o", "A/B/n url": "1",
        "A/B/n url (2)": "2", "A/B/n password (2)": "q", "A/B/n field": "r", "k privateKey": "s",
        "k publicKey": "t", "A/B notes": "text",
      ])
  }

  @Test func `values of a Bitwarden export may be null or not there`() throws {
    let text = """
      {"encrypted": false, "folders": [{"id": null, "name": "No Folder"}, {"id": "f", "name": null},
        {"id": "g"}], "collections": null, "items": [
        {"passwordHistory": null, "revisionDate": "2024-10-23T16:38:08.870Z", "deletedDate": null,
          "id": "a", "organizationId": null, "folderId": null, "type": 1, "reprompt": 0,
          "name": "n", "notes": null, "favorite": false, "fields": null, "login": {
            "fido2Credentials": null, "uris": null, "username": null, "password": "p",
            "totp": null}, "collectionIds": [null]},
        {"type": 1, "name": "o", "folderId": "f", "card": null, "login": {
          "uris": [{"match": 3, "uri": null}], "password": "q"}, "collectionIds": []},
        {"type": 2, "name": "s", "folderId": "g", "secureNote": {"type": 0}, "notes": "text",
          "fields": [{"name": "linked", "value": null, "type": 3, "linkedId": 100}]}]}
      """
    #expect(
      try items(text, BitwardenExport.items) == [
        "n password": "p", "o password": "q", "s notes": "text", "s linked": "",
      ])
  }

  @Test func `an item is named by its first collection, and keeps the names of the others`() throws
  {
    let text = """
      {"encrypted": false, "collections": [
        {"id": "b", "organizationId": "o", "name": "B/C", "externalId": null},
        {"id": "d", "organizationId": "o", "name": "D", "externalId": ""}], "items": [
        {"organizationId": "o", "folderId": null, "type": 1, "name": "n",
          "login": {"password": "p"}, "collectionIds": ["gone", "b", "d"]}]}
      """
    #expect(
      try items(text, BitwardenExport.items) == ["B/C/n password": "p", "B/C/n collection": "D"])
  }

  @Test func `cards, keys and documents keep the names of their fields`() throws {
    let text = """
      {"items": [
        {"type": 3, "name": "c", "card": {"cardholderName": "h", "brand": null,
          "number": "4111111111111111", "expMonth": "4", "expYear": "2032", "code": "123"}},
        {"type": 4, "name": "i", "identity": {"firstName": "f", "address2": null, "ssn": "s"}},
        {"type": 5, "name": "k", "sshKey": {
          "privateKey": "s", "publicKey": "t", "keyFingerprint": "SHA256:x"}},
        {"type": 6, "name": "b", "bankAccount": {"iban": "DE", "pin": "1", "swiftCode": ""}},
        {"type": 7, "name": "d", "driversLicense": {"licenseNumber": "D"}},
        {"type": 8, "name": "p", "passport": {"passportNumber": "P"}}]}
      """
    #expect(
      try items(text, BitwardenExport.items) == [
        "c cardholderName": "h", "c number": "4111111111111111", "c expMonth": "4",
        "c expYear": "2032", "c code": "123", "i firstName": "f", "i ssn": "s",
        "k privateKey": "s", "k publicKey": "t", "k keyFingerprint": "SHA256:x", "b iban": "DE",
        "b pin": "1", "d licenseNumber": "D", "p passportNumber": "P",
      ])
    let listing = try BitwardenExport.items(SecretBytes(utf8: text), name: "file").listing()
    #expect(listing.omissions.isEmpty)
  }

  @Test func `numbers and truth values of other programs are taken as text`() throws {
    let text = """
      {"items": [{"type": 3, "name": "c", "card": {"number": 4111111111111111, "expMonth": 4},
        "fields": [{"name": "on", "value": true, "type": 2}]}]}
      """
    #expect(
      try items(text, BitwardenExport.items) == [
        "c number": "4111111111111111", "c expMonth": "4", "c on": "true",
      ])
  }

  @Test(arguments: [
    ("geheim", "file: this is not what"), ("[]", "file: this is a list of JSON values"),
    ("{\"items\": 1}", "file, items: this is not what"), ("{}", "file, items: this is not what"),
    ("{\"items\": [{\"name\": \"geheim\"}]}", "file, items[0].type: this is not what"),
    (
      "{\"items\": [{\"type\": 3, \"card\": {\"geheim\": [1]}}]}",
      "file, items[0].card: this is not what"
    ),
    ("{\"encrypted\": true, \"items\": [\"geheim\"]}", "file: the export is encrypted"),
  ])
  func `JSON of another form is refused`(_ text: String, _ reason: String) {
    #expect(complaint(text, BitwardenExport.items)?.hasPrefix(reason) == true)
  }

  // MARK: Python's keyring

  @Test func `a file of Python's keyring has names with any characters`() throws {
    let text = """
      # a comment
      [a_2Eb_c3_a9]
      u =
      \tZ2Vo
      \tZWlt
      \t
      v_20w: eA==

      [c]
      x =

      """
    #expect(
      try items(text, KeyringFile.items) == ["a.bé u": "geheim", "a.bé v w": "x", "c x": ""])
  }

  @Test(arguments: [
    ("u = geheim", "line 1: a line is before the first section"),
    ("[s]\n geheim", "line 2: a line is indented, but continues nothing"),
    ("[s]\ngeheim", "line 2: a line has neither a section nor a value"),
    ("[s]\nu = geheim!\n[t]", "line 2: the value is not in base64"),
    ("[s]\nu = eA==\nu = eQ==", "line 3: u of s is already in an earlier line"),
    ("[s]\n[s]", "line 2: the section of s is already in an earlier line"),
    ("[s.geheim]", "line 1: a name is not as keyring writes it"),
    ("[s_+1]", "line 1: a name is not as keyring writes it"),
    ("[s_1]", "line 1: a name is not as keyring writes it"),
    ("[s_ff]", "line 1: a name is not UTF-8"),
    ("[_20]\n = eA==", "line 2: a line is indented, but continues nothing"),
    ("{\"a\": 1}", "this is JSON of another form, not a file of Python's keyring"),
  ])
  func `another file is not taken for one of keyring`(_ text: String, _ reason: String) {
    let complaint = complaint(text, KeyringFile.items)
    #expect(["file, \(reason)", "file: \(reason)"].contains(complaint))
  }

  @Test func `an encrypted file of keyring is recognized`() {
    let text = "[s]\nu = eA==\n[keyring_2Dsetting]\npassword_20reference = eA==\nscheme = x y\n"
    #expect(
      complaint(text, KeyringFile.items)
        == "file: this file of Python's keyring is encrypted, and only keyring opens it")
  }
}
