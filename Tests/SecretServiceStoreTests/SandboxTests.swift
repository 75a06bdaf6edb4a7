import SessionToolsBusTestSupport
import Foundation
import SealedStore
import SecretServiceStore
import SessionTools
import SessionToolsBase
import SessionToolsTestSupport
import Testing

/// An app as it would be for iOS, in the sandbox of a Flatpak or a Snap, on a desktop with
/// gnome-keyring and its portal.
@Suite(.fewAtATime) struct SandboxTests {
  private let bus: PrivateBus

  init() async throws {
    bus = try await PrivateBus()
  }

  private var keychain: String { bus["data/session-tools/com.example.mail"] }

  private func references() throws -> [String] {
    try SealedFileStore.keySlots(at: keychain).map { slot in
      if case .namedKey(let reference)? = slot.parameters { reference } else { "no reference" }
    }
  }

  /// The contents of the keychain's files, by their names.
  private func files() throws -> [String: Data] {
    let names = try FileManager.default.contentsOfDirectory(atPath: keychain)
    return try Dictionary(
      uniqueKeysWithValues: names.map {
        ($0, try Data(contentsOf: URL(filePath: "\(keychain)/\($0)")))
      })
  }

  @Test func `a Flatpak without permissions keeps its key by way of the portal`() async throws {
    let keyring = try await GnomeKeyring(on: bus)
    let portal = try await RealPortal(on: bus)
    defer { withExtendedLifetime((keyring, portal)) {} }
    let flatpak = try await FlatpakApp("com.example.Mail", on: bus)
    #expect(try await flatpak.app("read") == "no user\n")
    #expect(try await flatpak.app("store", "Ada") == "stored\n")
    #expect(try await flatpak.app("read") == "Ada\n")
    #expect(try references().map { $0.hasPrefix("portal:") } == [true])
    #expect(!FileManager.default.fileExists(atPath: bus["data/session-tools/keys"]))
    let slots = try SealedFileStore.keySlots(at: keychain)
    #expect(StoreProtection(sealedFor: slots).atRest == .keyring)
    let protection = try await flatpak.app("protection")
    #expect(protection.contains("opens with secret of a sandboxed app"), "\(protection)")

    let tool = try await flatpak.run(Tool.program, "list", keychain)
    #expect(tool.contains("com.example.mail"), "\(tool)")

    // Another app with all the files, and programs outside.
    let before = try files()
    let other = try await FlatpakApp("com.example.Other", on: bus)
    for command in [["read"], ["store", "Eve"]] {
      let answer =
        try await command.count == 1 ? other.app(command[0]) : other.app(command[0], command[1])
      #expect(answer.hasPrefix("wrongKey: the desktop has another secret for"), "\(answer)")
    }
    let foreign = try await other.run(Tool.program, "list", keychain)
    #expect(foreign.contains("the app's secret does not open it"), "\(foreign)")
    #expect(try await outside("read").hasPrefix("keyMissing: only a program in the app's sandbox"))
    let complaint = try await bus.run(
      "/bin/sh", "-c", "\"\(Tool.program)\" list \"\(keychain)\" 2>&1 || true")
    #expect(complaint.contains("flatpak run --command=PROGRAM APP"), "\(complaint)")
    #expect(try files() == before)
    #expect(try await flatpak.app("read") == "Ada\n")

    try FileManager.default.removeItem(atPath: keychain)
    #expect(try await flatpak.app("store-by-keyring", "Ada") == "stored\n")
    #expect(try references().map { $0.hasPrefix("portal:") } == [true])
  }

  @Test func `a keyring that was deleted loses nothing, and opens the keychain when it is back`()
    async throws
  {
    var keyring: GnomeKeyring? = try await GnomeKeyring(on: bus)
    let portal = try await RealPortal(on: bus)
    defer { withExtendedLifetime(portal) {} }
    let flatpak = try await FlatpakApp("com.example.Mail", on: bus)
    #expect(try await flatpak.app("store", "Ada") == "stored\n")
    let before = try files()

    keyring?.kill()
    try FileManager.default.moveItem(atPath: bus["data/keyrings"], toPath: bus["data/backup"])
    keyring = try await GnomeKeyring(on: bus)
    for _ in 0..<2 {
      let answer = try await flatpak.app("read")
      #expect(answer.hasPrefix("wrongKey: ") && answer.contains("from a backup"), "\(answer)")
    }
    #expect(try await flatpak.app("store", "Bob").hasPrefix("wrongKey: "))
    #expect(try files() == before)

    keyring?.kill()
    try FileManager.default.removeItem(atPath: bus["data/keyrings"])
    try FileManager.default.moveItem(atPath: bus["data/backup"], toPath: bus["data/keyrings"])
    keyring = try await GnomeKeyring(on: bus)
    #expect(try await flatpak.app("read") == "Ada\n")
    withExtendedLifetime(keyring) {}
  }

  @Test func `with a locked keyring a Flatpak makes nothing, and no key file`() async throws {
    // The first start makes the keyring.
    try await GnomeKeyring(on: bus).kill()
    let keyring = try await GnomeKeyring(on: bus, .locked)
    let portal = try await RealPortal(on: bus)
    defer { withExtendedLifetime((keyring, portal)) {} }
    let flatpak = try await FlatpakApp("com.example.Mail", on: bus)
    let answer = try await flatpak.app("store", "Ada")
    #expect(answer.hasPrefix("unavailable: ") && answer.contains("locked"), "\(answer)")
    #expect(!FileManager.default.fileExists(atPath: keychain))
    #expect(!FileManager.default.fileExists(atPath: bus["data/session-tools/keys"]))
    try await GnomeKeyring.signIn(on: bus)
    #expect(try await flatpak.app("store", "Ada") == "stored\n")
    #expect(try await flatpak.app("read") == "Ada\n")
  }

  @Test func `a Flatpak with permission uses the keyring, and without a portal a key file`()
    async throws
  {
    let keyring = try await GnomeKeyring(on: bus)
    let portal = try await RealPortal(on: bus, hasSecrets: false)
    defer { withExtendedLifetime((keyring, portal)) {} }
    let permitted = try await FlatpakApp(
      "com.example.Mail", on: bus, talkingTo: [OtherClient.provider])
    #expect(try await permitted.app("store", "Ada") == "stored\n")
    #expect(try references().map { $0.hasPrefix("secret-service:") } == [true])
    #expect(try await permitted.app("read") == "Ada\n")

    try FileManager.default.removeItem(atPath: bus["data/session-tools"])
    let plain = try await FlatpakApp("com.example.Plain", on: bus)
    let refused = try await plain.app("store-by-keyring", "Ada")
    #expect(refused.hasPrefix("unavailable: ") && refused.contains("--talk-name="), "\(refused)")
    #expect(!FileManager.default.fileExists(atPath: bus["data/session-tools/com.example.mail"]))
    #expect(try await plain.app("store", "Ada") == "stored\n")
    #expect(try references() == ["no reference"])
    #expect(try await plain.app("read") == "Ada\n")
  }

  @Test func `a Snap that may not use the keyring uses the portal, and a program outside never`()
    async throws
  {
    // As AppArmor answers; the portal uses another interface of the same program.
    let bus = try await PrivateBus(
      denying: #"send_destination="org.freedesktop.secrets" "#
        + #"send_interface="org.freedesktop.Secret.Service""#)
    let keyring = try await GnomeKeyring(on: bus)
    let portal = try await RealPortal(on: bus)
    defer { withExtendedLifetime((keyring, portal)) {} }
    let program = BuildDirectory.program("SessionToolsSandboxedApp")
    let snap = bus.environment.merging(["SNAP": "/snap/mail/1"]) { $1 }
    for (arguments, answer) in [(["store", "Ada"], "stored\n"), (["read"], "Ada\n")] {
      #expect(try await Program.run(program, arguments, environment: snap) == answer)
    }
    let slots = try SealedFileStore.keySlots(at: bus["data/session-tools/com.example.mail"])
    #expect(slots.map { $0.parameters?.description } == [Self.description])

    try FileManager.default.removeItem(atPath: bus["data/session-tools"])
    let answer = try await bus.run(program, "store", "Ada")
    #expect(answer.hasPrefix("accessDenied: "), "\(answer)")
    #expect(!FileManager.default.fileExists(atPath: bus["data/session-tools/com.example.mail"]))
  }

  @Test func `a program outside of a sandbox uses a key file though there is a portal`()
    async throws
  {
    let portal = try await MockPortal(on: bus)
    #expect(try await outside("store", "Ada") == "stored\n")
    #expect(try references() == ["no reference"])
    #expect(try await portal.count() == 0)
  }

  private static let description = "secret of a sandboxed app, from the desktop's portal"

  /// Runs the app outside of a sandbox.
  private func outside(_ arguments: String...) async throws -> String {
    try await Program.run(
      BuildDirectory.program("SessionToolsSandboxedApp"), arguments, environment: bus.environment)
  }
}
