import SessionToolsBusTestSupport
import Foundation
import SealedStore
import SecretServiceStore
import SessionToolsBase
import StoreMigration
import SessionToolsTestSupport
import Testing

/// Items of other programs in the Secret Service, written by those programs themselves.
@Suite(.fewAtATime) struct ForeignItemsTests {
  private typealias Texts = [String: String]

  /// Returns the items of a dialect: `service / group / identifier`, and the values.
  private func texts(
    _ dialect: ForeignSecretServiceItems.Dialect, on bus: PrivateBus
  ) async throws -> Texts {
    let items = ForeignSecretServiceItems(dialect, bus.store())
    var texts: Texts = [:]
    for name in try await items.names(in: nil) {
      let parts = [name.namespace.service, name.namespace.accessGroup, name.identifier]
      let value = try await items.value(for: name)
      texts[parts.compactMap(\.self).joined(separator: " / ")] = value.map {
        String(decoding: $0.copyBytes(), as: UTF8.self)
      }
    }
    return texts
  }

  /// Lets a program of Python store items, again if it fails: a busy KWallet does not always answer
  /// it, and what is stored twice is replaced.
  private func python(_ code: String, on bus: PrivateBus) async throws {
    var environment = bus.environment
    environment["PYTHONPATH"] = ProcessInfo.processInfo.environment["SESSION_TOOLS_PYTHON_PACKAGES"]
    for attempt in 1...5 {
      do {
        try await Program.run("/usr/bin/python3", ["-c", code], environment: environment)
        return
      } catch  where attempt < 5 {
        continue
      }
    }
  }

  @Test(arguments: Keyring.allCases)
  func `each dialect lists the items of its program and no others`(
    _ kind: Keyring
  ) async throws {
    let service = try await KeyringOnBus(kind)
    let bus = service.bus
    try await python(
      """
      import keyring
      keyring.set_password('mail.example', 'me@example', 'päss')
      keyring.set_password('mail.example', 'you', '')
      keyring.get_keyring().scheme = 'KeePassXC'
      keyring.set_password('KeePass', 'me', 'kp')
      """, on: bus)
    try await python(
      """
      import keyringrs
      keyringrs.Entry('rs.example', 'user').set_password('rust')
      """, on: bus)
    try await bus.secretTool("store", "--label=l", "host", "a b", "user", "you", input: "tool")
    try await bus.secretTool("store", "--label=l", "service", "s", "port", "1", input: "named")
    // As go-keyring 0.2 and keytar 7 write them; neither can be installed here.
    try await bus.secretTool(
      "store", "--label=l", "service", "gh:github.com", "username", "me", input: "go")
    try await bus.secretTool(
      "store", "--label=l", "service", "code", "account", "me", input: "node")
    try await bus.run(
      "/usr/bin/docker-credential-secretservice", "store",
      input: #"{"ServerURL":"https://registry.example/v1/","Username":"d","Secret":"docker"}"#)
    let git = try #require(ProcessInfo.processInfo.environment["SESSION_TOOLS_GIT_HELPER"])
    for (lines, password) in [
      ("protocol=https\nhost=example.com:8443", "p1"),
      ("protocol=https\nhost=example.org\npath=a/b.git", "p2"),
    ] {
      try await bus.run(
        git, "store", input: "\(lines)\nusername=me\npassword=\(password)\n\n")
    }
    let own = bus.store()
    try await own.put(SecretBytes(utf8: "own"), for: ItemName("own", in: "service"))

    #expect(
      try await texts(.pythonKeyring, on: bus) == [
        "mail.example / me@example": "päss", "mail.example / you": "", "KeePass / me": "kp",
      ])
    #expect(try await texts(.rustKeyring, on: bus) == ["rs.example / user": "rust"])
    #expect(try await texts(.goKeyring, on: bus) == ["gh:github.com / me": "go"])
    #expect(try await texts(.keytar, on: bus) == ["code / me": "node"])
    #expect(
      try await texts(.docker, on: bus) == ["docker / d@https://registry.example/v1/": "docker"])
    #expect(
      try await texts(.git, on: bus) == [
        "git / https://me@example.com:8443": "p1", "git / https://me@example.org/a/b.git": "p2",
      ])
    let toolTexts = try await texts(.secretTool, on: bus)
    #expect(toolTexts["secret-tool / host=a b, user=you"] == "tool")
    #expect(toolTexts["s / port=1"] == "named")
    #expect(!toolTexts.values.contains("päss") && !toolTexts.values.contains("own"))
    #expect(try await own.names(in: nil).count == 1)

    let target = MemoryStore()
    var options = MigrationOptions()
    options.allowsWeakerProtection = true
    let source = ForeignSecretServiceItems(.pythonKeyring, bus.store())
    let migration = Migration(
      from: source, to: target, journal: MemoryStore(), options: options)
    let report = try await migration.run()
    #expect(report.isComplete && report.migratedCount == 3)
    #expect(
      try await target.value(for: ItemName("me@example", in: "mail.example"))
        == SecretBytes(utf8: "päss"))
    #expect(try await migration.undo().restoredCount == 3)
    #expect(try await texts(.pythonKeyring, on: bus).count == 3, "they are only read")
  }

  @Test func `the items are only read, and locked is not absent`() async throws {
    let bus = try await PrivateBus()
    let keyring = try await GnomeKeyring(on: bus)
    try await bus.secretTool("store", "--label=l", "service", "s", "username", "u", input: "1")
    let items = ForeignSecretServiceItems(.goKeyring, bus.store())
    let name = try ItemName("u", in: "s")
    #expect(
      await failure { try await items.put(SecretBytes(utf8: "2"), for: name) }
        == StoreError.accessDenied)
    #expect(await failure { try await items.remove(name) } == StoreError.accessDenied)
    let access = await failure {
      try await items.withExclusiveAccess(to: name, timeout: .zero) { () async in }
    }
    #expect(access == StoreError.accessDenied)
    #expect(try await items.value(for: ItemName("absent", in: "s")) == nil)
    // A value that is replaced, and an item that is gone.
    #expect(try await items.value(for: name) == SecretBytes(utf8: "1"))
    try await bus.secretTool("store", "--label=l", "service", "s", "username", "u", input: "2")
    #expect(try await items.value(for: name) == SecretBytes(utf8: "2"))
    try await bus.secretTool("clear", "service", "s", "username", "u")
    #expect(try await items.value(for: name) == nil)
    try await bus.secretTool("store", "--label=l", "service", "s", "username", "u", input: "3")
    try await OtherClient(on: bus).lock()
    #expect(await failure { try await items.value(for: name) } == StoreError.locked)
    #expect(await failure { try await items.names(in: nil) } == StoreError.locked)
    withExtendedLifetime(keyring) {}
  }
}
