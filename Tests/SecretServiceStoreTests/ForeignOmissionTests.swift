import SessionToolsBusTestSupport
import SecretServiceStore
import SessionToolsBase
import StoreMigration
import SessionToolsTestSupport
import Testing

/// What a migration of another program's items leaves out, and what a collection has if it finds
/// nothing.
@Suite(.fewAtATime) struct ForeignOmissionTests {
  private typealias Dialect = ForeignSecretServiceItems.Dialect

  /// An item as another program makes it.
  private struct Made {
    let label: String
    let secret: String
    let attributes: [String: String]
  }

  /// Makes items with Python's secretstorage, which replaces none.
  ///
  /// It sends its public key as a number, without leading zeros, and KWallet accepts only 128
  /// bytes: one of 256 sessions was refused.
  private func make(_ items: [Made], on bus: PrivateBus) async throws {
    let list = items.map { item in
      let attributes = item.attributes.map { "\(quoted($0)): \(quoted($1))" }
      return
        "(\(quoted(item.label)), {\(attributes.joined(separator: ", "))}, \(quoted(item.secret)))"
    }
    let program = """
      import secretstorage.util
      secretstorage.util.int_to_bytes = lambda number: number.to_bytes(128, "big")
      collection = secretstorage.get_default_collection(secretstorage.dbus_init())
      for label, attributes, secret in [\(list.joined(separator: ", "))]:
          collection.create_item(label, attributes, secret.encode(), replace=False)
      """
    try await bus.run("/usr/bin/python3", "-c", program)
  }

  private func quoted(_ text: String) -> String { text.debugDescription }

  /// Migrates a program's items, and returns their values and `name, part: reason` of the rest.
  private func migrated(
    _ dialect: Dialect, on bus: PrivateBus
  ) async throws -> (values: [String: String], omissions: [String]) {
    var options = MigrationOptions()
    options.allowsWeakerProtection = true
    let (target, service) = (MemoryStore(), bus.store())
    var migration = Migration(
      from: ForeignSecretServiceItems(dialect, service), to: target, journal: MemoryStore(),
      options: options)
    migration.foundInstead = { () throws(StoreError) in
      try service.otherItems(than: dialect.name)
    }
    let report = try await migration.run()
    let names = try await target.names(in: nil)
    #expect(report.failedCount == 0 && report.migratedCount == names.count)
    var omissions: [String] = []
    try report.forEachOmission { omission in
      let part = omission.part.map { ", \($0)" } ?? ""
      omissions.append("\(omission.name)\(part): \(omission.reason)")
    }
    #expect(omissions.count == report.omittedCount)
    #expect(report.isComplete == omissions.isEmpty)
    var values: [String: String] = [:]
    for name in names {
      let value = try #require(try await target.value(for: name))
      values["\(name.namespace.service) / \(name.identifier)"] =
        String(decoding: value.copyBytes(), as: UTF8.self)
    }
    return (values, omissions)
  }

  private static let python = ["application": "Python keyring library"]

  @Test(arguments: Keyring.allCases)
  func `of items with one name the newest is read, and one with another value is left out`(
    _ kind: Keyring
  ) async throws {
    let service = try await KeyringOnBus(kind)
    let item = ["service": "s", "username": "u"]
    // All attributes of the second are also those of the third, and of the fourth only the name.
    try await make(
      [
        Made(label: "other", secret: "1", attributes: ["service": "s", "username": "v"]),
        Made(label: "a", secret: "a", attributes: item),
        Made(label: "a", secret: "a", attributes: item),
        Made(label: "b", secret: "b", attributes: item.merging(["xdg:schema": "x"]) { $1 }),
      ], on: service.bus)
    let (values, omissions) = try await migrated(.goKeyring, on: service.bus)
    #expect(values.count == 2 && values["s / v"] == "1")
    let read = try #require(values["s / u"])
    let left = omissions.map { String($0.prefix(1)) }
    // Their times may be the same second.
    #expect(read == "b" ? left == ["a", "a"] : read == "a" && left == ["b"])
    for omission in omissions {
      #expect(
        omission.dropFirst()
          == ": a newer item would also be u of s, and only that one is read; copy this one by hand"
      )
    }
  }

  @Test func `an item with a name that is not valid, or without one, is left out by its label`()
    async throws
  {
    let bus = try await PrivateBus()
    let keyring = try await GnomeKeyring(on: bus)
    let (python, long) = (Self.python, String(repeating: "x", count: 4097))
    func of(_ more: [String: String]) -> [String: String] { python.merging(more) { $1 } }
    try await make(
      [
        Made(label: "good", secret: "1", attributes: of(["service": "s", "username": "u"])),
        Made(label: "empty", secret: "2", attributes: of(["service": "s", "username": ""])),
        Made(label: "long", secret: "3", attributes: of(["service": long, "username": "u"])),
        Made(label: "nameless", secret: "4", attributes: of(["service": "s"])),
        Made(label: "", secret: "5", attributes: of(["note": "private"])),
        // Another program's items are not among its losses.
        Made(label: "tool", secret: "6", attributes: ["service": "only"]),
      ], on: bus)
    let (values, omissions) = try await migrated(.pythonKeyring, on: bus)
    #expect(values == ["s / u": "1"])
    let nameless = "its attributes have no name for it; copy it by hand, for example with Seahorse"
    try #require(omissions.count == 4, "\(omissions)")
    #expect(omissions[0] == "an item without a label, attributes application, note: \(nameless)")
    #expect(omissions[1].hasPrefix("empty: ") && omissions[1].hasSuffix("; copy it by hand"))
    #expect(omissions[2].hasPrefix("long: ") && omissions[2].hasSuffix("; copy it by hand"))
    #expect(omissions[3] == "nameless: \(nameless)")
    #expect(
      try await migrated(.secretTool, on: bus).omissions == ["tool: \(nameless)"],
      "python's own are not secret-tool's")
    withExtendedLifetime(keyring) {}
  }

  @Test(arguments: Dialect.all.map(\.name))
  func `where a program has no items, those of others are counted with what reads them`(
    _ name: String
  ) async throws {
    let bus = try await PrivateBus()
    let keyring = try await GnomeKeyring(on: bus)
    let dialect = try #require(Dialect.all.first { $0.name == name })
    #expect(try await migrated(dialect, on: bus).omissions == [], "an empty collection is complete")
    try await make(
      [
        Made(label: "c", secret: "1", attributes: ["xdg:schema": "com.example.Browser", "a": "b"]),
        Made(label: "d", secret: "2", attributes: ["xdg:schema": "com.example.Browser", "a": "c"]),
        // What KDE Frameworks 6 keeps of KWallet's own interface.
        Made(
          label: "k", secret: "3",
          attributes: ["xdg:schema": "org.qt.keychain", "server": "Passwords", "user": "k"]),
      ], on: bus)
    try await bus.store().put(SecretBytes(utf8: "own"), for: ItemName("own", in: "service"))
    let (values, omissions) = try await migrated(dialect, on: bus)
    #expect(values.isEmpty)
    #expect(
      omissions == [
        "secret service, 1 item of this library: \(name): does not read them; secret-service: does",
        "secret service, 1 item of KWallet itself or a Qt program: no source reads what KWallet's "
          + "own interface made, as Python's keyring does on KDE; copy it by hand, with "
          + "kwallet-query -f FOLDER -r ENTRY WALLET",
        "secret service, 2 items of the schema com.example.Browser: no source reads them; copy "
          + "them by hand, from the program that made them or with Seahorse",
      ])
    withExtendedLifetime(keyring) {}
  }

  @Test func `the keys of sealed stores are no items that an import could have found`()
    async throws
  {
    let bus = try await PrivateBus()
    let keyring = try await GnomeKeyring(on: bus)
    let store = bus.store()
    try await store.put(
      SecretBytes(utf8: "key"), for: ItemName("vault", in: "org.session-tools.keys"))
    #expect(try await migrated(.pythonKeyring, on: bus).omissions == [])
    #expect(try store.otherItems(than: "secret-service") == [])
    withExtendedLifetime(keyring) {}
  }

  @Test func `what Python's keyring finds without its attribute is named with its own source`()
    async throws
  {
    let bus = try await PrivateBus()
    let keyring = try await GnomeKeyring(on: bus)
    try await bus.secretTool(
      "store", "--label=l", "service", "s", "username", "u", input: "value")
    let get = "import keyring; print(keyring.get_password('s', 'u'))"
    #expect(try await bus.run("/usr/bin/python3", "-c", get) == "value\n")
    #expect(
      try await migrated(.pythonKeyring, on: bus).omissions == [
        "secret service, 1 item of go-keyring: python-keyring: does not read them; go-keyring: does"
      ])
    withExtendedLifetime(keyring) {}
  }

  @Test func `what Python's keyring keeps in KWallet itself is counted if nothing else is found`()
    async throws
  {
    let bus = try await PrivateBus()
    let keyring = try await KWallet(on: bus)
    let set = """
      import keyring.backends.kwallet
      for user in ['me', 'you']:
          keyring.backends.kwallet.DBusKeyring().set_password('mail.example', user, 'secret')
      """
    try await bus.run("/usr/bin/python3", "-c", set)
    let (values, omissions) = try await migrated(.pythonKeyring, on: bus)
    #expect(values.isEmpty)
    try #require(omissions.count == 1, "\(omissions)")
    #expect(
      omissions[0].hasPrefix("secret service, 2 items of KWallet itself or a Qt program: no source")
    )
    // The remedy.
    #expect(
      try await bus.run(
        "/usr/bin/kwallet-query", "-f", "mail.example", "-r", "you", "kdewallet") == "secret\n")
    try await bus.secretTool("store", "--label=l", "host", "h", input: "value")
    let tool = try await migrated(.secretTool, on: bus)
    #expect(tool.values == ["secret-tool / host=h": "value"])
    #expect(tool.omissions == [])
    #expect(keyring.isRunning)
  }

  @Test func `a person's entries in KeePassXC are counted, with the export that has all of them`()
    async throws
  {
    let bus = try await PrivateBus()
    let keyring = try await KeePassXC(on: bus)
    try await make([Made(label: "entry", secret: "1", attributes: [:])], on: bus)
    for dialect in Dialect.all {
      let (values, omissions) = try await migrated(dialect, on: bus)
      #expect(values.isEmpty)
      #expect(
        omissions == [
          "secret service, 1 item of KeePassXC itself: keepass-xml: reads an export, which has all "
            + "that an entry has: keepassxc-cli export --format xml DATABASE | session-tools "
            + "import STORE keepass-xml:-"
        ], "\(dialect.name)")
    }
    #expect(keyring.isRunning)
  }

  @Test func `values of KeePassXC's fields are not in names`() async throws {
    let bus = try await PrivateBus()
    let keyring = try await KeePassXC(on: bus)
    try await make(
      [Made(label: "l", secret: "1", attributes: ["host": "h", "Notes": "private"])], on: bus)
    #expect(try await migrated(.secretTool, on: bus).values == ["secret-tool / host=h": "1"])
    #expect(keyring.isRunning)
  }
}
