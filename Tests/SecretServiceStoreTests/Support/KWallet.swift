import SessionToolsBusTestSupport
import SessionToolsDBus
import Foundation
import SecretServiceStore
import SessionToolsTestSupport

/// KWallet on a bus, without a display: one wallet, "kdewallet".
final class KWallet: Sendable {
  enum Start {
    /// Open, and unlocked for programs that use the Secret Service.
    case unlocked
    /// Open, as after a login with its password.
    ///
    /// The Secret Service reports it as locked until a program unlocks it, which takes no question.
    case loggedIn
    /// Closed.
    case locked
  }

  /// Debian 12 has the program of KDE's version 5, Debian 13 that of version 6, which also takes
  /// the name of the older one on the bus.
  private static let program =
    FileManager.default.isExecutableFile(atPath: "/usr/bin/kwalletd6")
    ? "/usr/bin/kwalletd6" : "/usr/bin/kwalletd5"
  private static let name = "org.kde.kwalletd5"
  private static let wallet = "kdewallet"

  private let daemon: Daemon
  private let bus: PrivateBus

  /// Starts KWallet with the bus's wallet, which the first start creates.
  init(on bus: PrivateBus, _ start: Start = .unlocked) async throws {
    self.bus = bus
    if !FileManager.default.fileExists(atPath: Self.file(on: bus)) {
      try Self.writeSettings(on: bus)
      try FileManager.default.createDirectory(
        atPath: bus["data/kwalletd"], withIntermediateDirectories: false)
      try await Self.emptyWallet.value.write(to: URL(filePath: Self.file(on: bus)))
    }
    daemon = try await Self.started(on: bus)
    if start != .locked { try await signIn() }
    if start == .unlocked { try await bus.store().unlock() }
  }

  /// Made once, because KWallet shows a wallet to programs that use the Secret Service only if it
  /// finds the wallet when it starts.
  private static let emptyWallet = Task { () async throws -> Data in
    let bus = try await PrivateBus()
    try writeSettings(on: bus)
    let daemon = try await started(on: bus)
    try await signIn(on: bus)
    try await wait(until: "the wallet is there") {
      FileManager.default.fileExists(atPath: file(on: bus))
    }
    daemon.kill()
    return try Data(contentsOf: URL(filePath: file(on: bus)))
  }

  private static func started(on bus: PrivateBus) async throws -> Daemon {
    try await bus.start(
      program, name: OtherClient.provider,
      environment: [
        "XDG_CURRENT_DESKTOP": "KDE", "KDE_FULL_SESSION": "true", "KDE_SESSION_VERSION": "5",
      ])
  }

  private static func file(on bus: PrivateBus) -> String { bus["data/kwalletd/\(wallet).kwl"] }

  private static func writeSettings(on bus: PrivateBus) throws {
    let settings = """
      [Wallet]
      Enabled=true
      First Use=false
      Use One Wallet=true
      Default Wallet=\(wallet)
      Local Wallet=\(wallet)
      Prompt on Open=false
      Leave Open=true
      Close When Idle=false
      Launch Manager=false

      [org.freedesktop.secrets]
      apiEnabled=true

      [Migration]
      alreadyMigrated=true

      """
    try settings.write(toFile: bus["config/kwalletrc"], atomically: true, encoding: .utf8)
  }

  /// Opens the wallet as PAM's module does at a login.
  func signIn() async throws { try await Self.signIn(on: bus) }

  private static func signIn(on bus: PrivateBus) async throws {
    let key = (0..<56).map(String.init).joined(separator: ",")
    try await call("pamOpen", "string:\(wallet)", "array:byte:\(key)", "int32:0", on: bus)
  }

  /// Closes the wallet, as an idle timeout, a screen saver or the person does.
  func lock() async throws {
    try await Self.call("close", "string:\(Self.wallet)", "boolean:true", on: bus)
  }

  private static func call(
    _ method: String, _ arguments: String..., on bus: PrivateBus
  ) async throws {
    try await Program.run(
      "/usr/bin/dbus-send",
      [
        "--session", "--print-reply", "--dest=\(name)", "/modules/kwalletd5",
        "org.kde.KWallet.\(method)",
      ] + arguments, environment: bus.environment)
  }

  var isRunning: Bool { daemon.isRunning }

  /// Makes changes, and waits until they are on disk, some seconds later.
  func saving(_ change: () async throws -> Void) async throws {
    try await SavedFile(path: Self.file(on: bus)).saving(change)
  }

  /// Kills the daemon, as in a crash.
  func kill() { daemon.kill() }
}
