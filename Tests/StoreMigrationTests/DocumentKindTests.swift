import Foundation
import SessionToolsBase
import SessionToolsCommand
import StoreMigration
import SessionToolsTestThreads
import Testing

/// Files of the wrong kind: the error says which kind it is, and what to do with it.
@Suite(.onOwnThread) struct DocumentKindTests {
  private typealias Reader = @Sendable (SecretBytes, String) throws(StoreError) -> ReadOnlyItems

  private static let readers: [String: Reader] = [
    "keepass-xml:": KeePassXML.items, "keepass-csv:": KeePassCSV.items,
    "bitwarden:": BitwardenExport.items, "keyring-file:": KeyringFile.items,
    "browser-csv:": BrowserCSV.items, "aws-credentials:": AWSCredentials.items,
    "netrc:": Netrc.items, "gh-hosts:": GitHubHosts.items,
  ]

  /// A file, what the error calls it, and a part of what to do.
  struct Wrong: Sendable {
    let bytes: [UInt8]
    let kind: String
    let remedy: String

    init(_ bytes: [UInt8], _ kind: String, _ remedy: String) {
      (self.bytes, self.kind, self.remedy) = (bytes, kind, remedy)
    }

    init(_ text: String, _ kind: String, _ remedy: String) {
      self.init(Array(text.utf8), kind, remedy)
    }
  }

  private static let keePassCSV = "\"Group\",\"Title\",\"Username\",\"Password\"\nR,a,u,geheim\n"

  /// Files that none of the sources reads.
  static let wrong = [
    Wrong(
      [0x03, 0xD9, 0xA2, 0x9A, 0x67, 0xFB, 0x4B, 0xB5, 0], "database of KeePass", "keepass-xml:-"),
    Wrong(
      [0x03, 0xD9, 0xA2, 0x9A, 0x65, 0xFB, 0x4B, 0xB5, 0], "database of KeePass 1", "KeePassXC"),
    Wrong("PK\u{3}\u{4}......export.attributes...", "1Password", "KeePassXC"),
    Wrong("PK\u{3}\u{4}......data.json...", "Bitwarden with attachments", "data.json"),
    Wrong("PK\u{5}\u{6}", "a ZIP archive", "Unpack it"),
    Wrong([0x1F, 0x8B, 8, 0, 1], "a compressed file", "gunzip -c 'a file'"),
    Wrong([0x28, 0xB5, 0x2F, 0xFD, 1], "a compressed file", "unzstd -c"),
    Wrong("BZh91AY", "a compressed file", "bunzip2 -c"),
    Wrong("-----BEGIN PGP MESSAGE-----\n", "encrypted with OpenPGP", "gpg --decrypt"),
    Wrong([0x85, 0x01, 0x0C, 0x03], "encrypted with OpenPGP", "gpg --decrypt"),
    Wrong([0xC3, 0x0D, 0x04, 0x09], "encrypted with OpenPGP", "gpg --decrypt"),
    Wrong("age-encryption.org/v1\n", "encrypted with age", "age --decrypt"),
    Wrong("SQLite format 3\0", "an SQLite database", ""),
    Wrong("GnomeKeyring\n\r\0\n\0\0\0\0", "gnome-keyring's own file", "Unlock that keyring"),
    Wrong("GnomeKeyring\n\r\0\n\u{1}\0\0\0", "libsecret's encrypted file", "libsecret-file:"),
    Wrong([0, 1, 2, 3, 0, 0, 7], "a binary file", ""),
    Wrong("<!DOCTYPE html><html><p>geheim</p>", "a web page", "Log in"),
    Wrong("\n <HTML><body>", "a web page", "Log in"),
    Wrong("<?xml version='1.0'?><pwlist><pwentry/></pwlist>", "KeePass 1", "KeePassXC"),
    Wrong(
      "[{\"type\": 1, \"name\": \"geheim\"}]", "a list of JSON values", "bw export --format json"),
    Wrong(" [\n]", "a list of JSON values", "bw export --format json"),
    Wrong("{\"version\": \"1\", \"vaults\": {\"a\": {}}}", "Proton Pass", "KeePassXC"),
    Wrong("url,username,password,totp,extra,name,grouping,fav\n", "LastPass", "KeePassXC"),
    Wrong(
      "\"Account\",\"Login Name\",\"Password\",\"Web Site\",\"Comments\"", "KeePass 1",
      "KeePassXC"),
    Wrong(
      "folder,favorite,type,name,notes,fields,reprompt,login_uri,login_username,login_password\n",
      "Bitwarden's CSV export", "bw export --format json"),
    Wrong("Group;Title;Username;Password\nR;a;u;geheim\n", "separated by semicolons", ""),
    Wrong("Group\tTitle\tUsername\tPassword\n", "separated by tabs", ""),
    Wrong("\u{FEFF}a;b;c\nd;e;geheim\n", "separated by semicolons", ""),
  ]

  private func complaint(_ bytes: [UInt8], _ read: Reader) -> StoreError? {
    do throws(StoreError) {
      _ = try read(SecretBytes(bytes), "a file")
      return nil
    } catch {
      return error
    }
  }

  @Test(arguments: wrong, readers.keys.sorted())
  func `a file of another kind is named, with the way to what it has`(
    _ wrong: Wrong, _ source: String
  ) throws {
    let error = try #require(complaint(wrong.bytes, Self.readers[source]!))
    #expect(error.code == .undecodable)
    #expect(error.reason.hasPrefix("this is ") && error.reason.contains(wrong.kind))
    #expect(wrong.remedy.isEmpty || error.remedy?.contains(wrong.remedy) == true)
    #expect(!"\(error)".contains("geheim"))
  }

  /// What one of the sources reads, and every other one refuses with its name.
  static let readable = [
    ("keepass-xml:", "<?xml version='1.0'?><KeePassFile><Root/></KeePassFile>"),
    ("keepass-csv:", keePassCSV),
    ("bitwarden:", "{\"encrypted\": false, \"folders\": [], \"items\": []}"),
    ("jsonl:", "{\"service\": \"s\", \"identifier\": \"i\", \"value\": \"geheim\"}"),
    ("jsonl:", "{\"service\":\"s\",\"identifier\":\"i\",\"value\":\"1\"}\n{\"service\":\"t\"}\n"),
    ("keyring-file:", "[service]\nuser = eA==\n"),
    ("browser-csv:", "name,url,username,password\na,b,c,geheim\n"),
    (
      "browser-csv:",
      "\"url\",\"username\",\"password\",\"httpRealm\",\"formActionOrigin\",\"guid\"\n"
    ),
    ("aws-credentials:", "# mine\n\n[default]\naws_access_key_id = geheim\n"),
    ("netrc:", "machine example.com login ada password geheim\n"),
    ("gh-hosts:", "github.com:\n    user: ada\n    oauth_token: geheim\n"),
  ]

  @Test(arguments: readable, readers.keys.sorted())
  func `what another source reads is referred to it`(
    _ file: (source: String, text: String), _ source: String
  ) throws {
    let error = complaint(Array(file.text.utf8), Self.readers[source]!)
    guard file.source != source else {
      #expect(error == nil)
      return
    }
    #expect(error?.remedy == "Give it as \(file.source)'a file'")
  }

  @Test(arguments: [String.Encoding.utf16, .utf16LittleEndian, .utf16BigEndian, .utf32])
  func `text in UTF-16 and UTF-32 is to be converted, but JSON in UTF-16 is read`(
    _ encoding: String.Encoding
  ) throws {
    let table = [UInt8](try #require(Self.keePassCSV.data(using: encoding)))
    for (source, read) in Self.readers {
      let error = try #require(complaint(table, read), "\(source)")
      #expect(error.reason.contains("text in UTF-"))
      #expect(error.remedy?.hasSuffix("| session-tools import STORE keepass-csv:-") == true)
    }
    let export = [UInt8](try #require(Self.readable[2].1.data(using: encoding)))
    let isRead = complaint(export, BitwardenExport.items) == nil
    #expect(isRead == (encoding != .utf32))
  }

  @Test func `an empty file is an export that failed, except where nothing is written as nothing`()
    throws
  {
    for text in ["", "\u{FEFF}", " \n\n"] {
      for source in Self.readers.keys where source != "keyring-file:" {
        let error = complaint(Array(text.utf8), Self.readers[source]!)
        #expect(error?.reason.hasPrefix("this is empty, not ") == true)
      }
      #expect(complaint(Array(text.utf8), KeyringFile.items) == nil || text == "\u{FEFF}")
    }
  }

  @Test func `standard input is given again as standard input`() {
    do throws(StoreError) {
      _ = try KeePassXML.items(
        SecretBytes(utf8: Self.keePassCSV), name: DocumentKind.standardInput)
      Issue.record("it was read")
    } catch {
      #expect(error.remedy == "Give it as keepass-csv:-")
    }
  }
}
