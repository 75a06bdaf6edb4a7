import Foundation
import SessionToolsBase
import SessionToolsCommand
import StoreMigration
import SessionToolsTestSupport
import Testing

/// What a directory of `pass` has, and what of it no migration copies; no file is opened here.
@Suite struct PasswordStoreListingTests {
  private let directory: TemporaryDirectory
  private var root: String { directory["store"] }

  init() throws {
    directory = try TemporaryDirectory()
    try sh("mkdir store; touch store/.gpg-id")
  }

  private func sh(_ line: String, environment: [String: String] = [:]) throws {
    let outcome = try Program.outcome(
      of: ["/bin/bash", "-ec", line], in: directory.path,
      environment: ["PATH": "/usr/bin:/bin"].merging(environment) { $1 })
    #expect(outcome.status == 0, "\(outcome.complaint)")
  }

  private func list() throws -> (names: [String], omitted: [String: String]) {
    let listing = try PasswordStore.items(at: root).listing()
    #expect(listing.damage == nil)
    return (
      listing.names.map(\.identifier),
      Dictionary(listing.omissions.map { ($0.name, $0.reason) }) { first, _ in first }
    )
  }

  @Test func `names that begin with a dot are entries, and files of pass are not`() throws {
    try sh(
      """
      cd store; mkdir -p .ssh work/.hidden .git/objects .extensions .public-keys work/.git a/.git
      touch .ssh/id_rsa.gpg work/.netrc.gpg .hidden.gpg work/.hidden/x.gpg .git.gpg work/.gpg
      touch .git/objects/x.gpg .gitattributes .gitignore .gpg-id.sig .extensions/otp.bash
      touch .public-keys/0xABC work/.gpg-id work/.git/HEAD a/.gitkeep
      """)
    let (names, omitted) = try list()
    #expect(
      names == [".git", ".hidden", ".ssh/id_rsa", "work/", "work/.hidden/x", "work/.netrc"])
    #expect(omitted.isEmpty)
  }

  @Test func `every file that is not an entry is named with its reason`() throws {
    try sh(
      """
      cd store; mkdir web x.gpg; touch ok.gpg web/a.age web/b.asc c.GPG notes.txt README
      touch x.gpg/in.gpg .stignore web/.extensions
      mkfifo pipe.gpg; ln -s nothing gone.gpg; ln -s self self; ln -s ok.gpg alias.gpg
      """)
    let (names, omitted) = try list()
    #expect(names == ["alias", "ok", "x.gpg/in"])
    #expect(
      omitted.keys.sorted() == [
        ".stignore", "README", "c.GPG", "gone", "notes.txt", "pipe", "self", "web/.extensions",
        "web/a.age", "web/b.asc",
      ])
    #expect(omitted["web/a.age"]?.contains("encrypted with age") == true)
    #expect(omitted["c.GPG"] == "pass knows only names that end in .gpg; rename it")
    #expect(omitted["gone"]?.hasPrefix("it is a link that leads to nothing") == true)
    #expect(omitted["self"]?.hasPrefix("it is a link that leads to nothing") == true)
    #expect(omitted["pipe"]?.contains("not a file") == true)
  }

  @Test func `linked directories are followed under the names that pass shows`() throws {
    try sh(
      """
      mkdir -p team/deep elsewhere; touch team/x.gpg team/deep/y.gpg elsewhere/z.gpg
      cd store; touch own.gpg; ln -s ../team team1; ln -s "$PWD/../team" team2
      ln -s ../../elsewhere ../team/deep/more
      """)
    let shown = try Program.outcome(
      of: [
        "/bin/bash", "-ec", "find -L . -name '*.gpg' | sed 's,^./,,; s,.gpg$,,' | LC_ALL=C sort",
      ],
      in: root, environment: ["PATH": "/usr/bin:/bin"])
    let (names, omitted) = try list()
    #expect(names == shown.text.split(separator: "\n").map(String.init))
    #expect(names.contains("team1/deep/more/z") && names.contains("team2/x"))
    #expect(omitted.isEmpty)
  }

  @Test func `a circle of links ends, and loses nothing`() throws {
    try sh(
      """
      cd store; mkdir -p a b; touch a/x.gpg b/y.gpg
      ln -s .. a/up; ln -s ../b a/b; ln -s ../a b/a; ln -s . here
      """)
    let (names, omitted) = try list()
    #expect(names == ["a/b/y", "a/x", "b/a/x", "b/y"])
    #expect(omitted.isEmpty)
  }

  @Test func `a name that is not UTF-8 comes with the command that renames it`() throws {
    try sh(#"cd store; mkdir w $'d\xfcr'; touch ok.gpg w/$'caf\xe9.gpg' $'d\xfcr'/x.gpg"#)
    let omitted = try list().omitted
    #expect(omitted.keys.sorted() == [#"d\xFCr"#, #"w/caf\xE9.gpg"#])
    for reason in omitted.values {
      let command = try #require(reason.firstRange(of: "rename it: ")).upperBound
      try sh(String(reason[command...]))
    }
    #expect(try list().names == ["dür/x", "ok", "w/café"])
    #expect(try list().omitted.isEmpty)
  }

  @Test func `a directory that cannot be read is named with its cause`() throws {
    // As root, no permission is missing; a path that is too long is refused to everyone.
    try sh(
      """
      cd store; touch ok.gpg; name=$(head -c 250 /dev/zero | tr '\\0' d)
      for i in $(seq 20); do mkdir $name; cd -P ./$name; done
      """)
    let (names, omitted) = try list()
    #expect(names == ["ok"])
    #expect(omitted.values.contains { $0.hasPrefix("it cannot be read: File name too long") })
  }

  @Test func `an empty store is empty, and has no error`() throws {
    #expect(try list().names.isEmpty)
    try sh("cd store; mkdir .git work; touch .git/config work/.gpg-id")
    #expect(try list().names.isEmpty && list().omitted.isEmpty)
  }

  @Test(arguments: [
    ("touch store/.age-recipients store/mail.age", "encrypted with age"),
    ("mkdir store/web; touch store/web/mail.age", "encrypted with age"),
    ("touch store/notes.txt", "notes.txt"),
    ("rm store/.gpg-id; echo hi > store/README.md", "not a directory of pass"),
    ("ln -s nowhere store/x.gpg", "leads to nothing"),
    (#"touch store/$'caf\xe9.gpg'"#, #"caf\xE9"#),
  ])
  func `a directory with something and no entry is left out with what it looks like`(
    _ line: String, _ text: String
  ) throws {
    try sh(line)
    let listing = try PasswordStore.items(at: root).listing()
    #expect(listing.names.isEmpty && listing.damage == nil)
    #expect(listing.omissions.first?.name == root.withoutLinks && listing.omissions.count > 1)
    #expect(listing.omissions.contains { $0.text.contains(text) }, "\(listing.omissions)")
  }

  @Test func `a directory that is not there is told from one that is empty`() throws {
    for path in ["nothing", "store/.gpg-id"] {
      let error = #expect(throws: StoreError.self) {
        try PasswordStore.items(at: directory[path]).listing()
      }
      #expect(error?.code == .unavailable)
    }
  }

  @Test func `the walk through a foreign tree ends early`() throws {
    try sh("rm store/.gpg-id; cd store; seq 10002 | xargs touch")
    let error = #expect(throws: StoreError.self) { try PasswordStore.items(at: root).listing() }
    #expect(error?.reason.contains("10001 other") == true)
  }
}
