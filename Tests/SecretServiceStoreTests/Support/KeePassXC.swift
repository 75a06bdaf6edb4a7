import SessionToolsBusTestSupport
import SessionToolsDBus
import Foundation
import SessionToolsTestSupport
import Testing

/// KeePassXC on a bus, without a display: one database, "secrets", of which other programs see one
/// group, or also a second one.
final class KeePassXC: Sendable {
  private static let program = "/usr/bin/keepassxc"
  private let daemon: Daemon
  private let database: String

  /// Starts KeePassXC with the bus's database, which the first start creates.
  ///
  /// It saves the database after every change only if asked to. The thread that saves reads what
  /// the other thread may be changing: 2.7.4 crashes if the list of entries grows at that moment,
  /// from 14 to 15 and from 30 to 31.
  ///
  /// - Parameters:
  ///   - bus: The bus that it joins.
  ///   - saves: Whether it saves after every change.
  ///   - confirms: Whether it asks the person before a program reads an item that another created.
  ///   - asksBeforeSearch: Whether a search asks for a password if all databases are locked, as it
  ///     does unless configured otherwise.
  ///   - second: The name of the file of a second database, which is open and in front.
  ///   - display: The display of its windows; by default it has none.
  /// - Throws: An error if it cannot be started.
  init(
    on bus: PrivateBus, saves: Bool = false, confirms: Bool = false,
    asksBeforeSearch: Bool = false, second: String? = nil, display: Display? = nil
  ) async throws {
    database = Self.database(on: bus)
    if !FileManager.default.fileExists(atPath: Self.database(on: bus)) {
      try await Self.emptyDatabase.value.write(to: URL(filePath: Self.database(on: bus)))
      try Self.writeSettings(
        on: bus, saves: saves, confirms: confirms, asksBeforeSearch: asksBeforeSearch)
    }
    let other = second.map { bus["data/\($0).kdbx"] }
    if let other { try await Self.emptyDatabase.value.write(to: URL(filePath: other)) }
    var environment = bus.environment
    if let display {
      environment["QT_QPA_PLATFORM"] = "xcb"
      environment["DISPLAY"] = display.name
    }
    daemon = try Daemon(
      Self.program, ["--pw-stdin", Self.database(on: bus)] + [other].compactMap(\.self),
      input: "pw\npw\n",
      environment: environment)
    try await bus.waitForOwner(of: OtherClient.provider)
    let client = try await OtherClient(on: bus)
    try await wait(until: "the database is open") {
      guard try await client.collection() != "/" else { return false }
      do {
        let collections = try await client.collections()
        for path in collections where try await client.isLocked(path) { return false }
        return collections.count == (second == nil ? 1 : 2)
      } catch is DBusError {
        // The database is being opened, for which its collection goes and comes back.
        return false
      }
    }
  }

  private static func database(on bus: PrivateBus) -> String { bus["data/secrets.kdbx"] }

  /// Made once, because deriving its key takes seconds.
  private static let emptyDatabase = Task { try await makeDatabase(on: PrivateBus()) }

  private static func makeDatabase(on bus: PrivateBus) async throws -> Data {
    let (plain, changed) = (bus["plain.kdbx"], bus["changed.xml"])
    let tool = "/usr/bin/keepassxc-cli"
    try await bus.run(tool, "db-create", "-t", "100", "-p", plain, input: "pw\npw\n")
    try await bus.run(tool, "mkdir", plain, "Secrets", input: "pw\n")
    var document = try await bus.run(tool, "export", "-f", "xml", plain, input: "pw\n")
    // The only way to choose the group to show that needs no window.
    let entry =
      "<Item><Key>FDO_SECRETS_EXPOSED_GROUP</Key>"
      + "<Value>\(try group("Secrets", in: document))</Value></Item>"
    let end = try #require(document.range(of: "</Meta>"))
    if let start = document.range(of: "<CustomData>"), start.upperBound < end.lowerBound {
      document.insert(contentsOf: entry, at: start.upperBound)
    } else {
      document.insert(contentsOf: "<CustomData>\(entry)</CustomData>", at: end.lowerBound)
    }
    try document.write(toFile: changed, atomically: true, encoding: .utf8)
    try await bus.run(
      tool, "import", "-t", "100", "-p", changed, database(on: bus), input: "pw\npw\n")
    return try Data(contentsOf: URL(filePath: database(on: bus)))
  }

  /// Returns the UUID of a group in the form of KeePassXC's settings.
  private static func group(_ name: String, in document: String) throws -> String {
    let group = try Regex("<UUID>([^<]*)</UUID>\\s*<Name>\(name)")
    let match = try #require(try group.firstMatch(in: document))
    let bytes = [UInt8](try #require(Data(base64Encoded: String(match[1].substring ?? ""))))
    let digits = bytes.map { String(format: "%02x", $0) }
    let parts = [digits[..<4], digits[4..<6], digits[6..<8], digits[8..<10], digits[10...]]
    return "{\(parts.map { $0.joined() }.joined(separator: "-"))}"
  }

  private static func writeSettings(
    on bus: PrivateBus, saves: Bool, confirms: Bool, asksBeforeSearch: Bool
  ) throws {
    let directory = bus["config/keepassxc"]
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true)
    // 2.7.10 crashes when it shows the panel of a database that it opens by --pw-stdin.
    let settings = """
      [General]
      AutoSaveAfterEveryChange=\(saves)

      [GUI]
      HidePreviewPanel=true

      [FdoSecrets]
      Enabled=true
      ConfirmAccessItem=\(confirms)
      ConfirmDeleteItem=false
      ShowNotification=false
      UnlockBeforeSearch=\(asksBeforeSearch)

      """
    try settings.write(
      toFile: "\(directory)/keepassxc.ini", atomically: true, encoding: .utf8)
  }

  /// Brings a database to the front, which makes it the default collection; if it is locked, this
  /// also unlocks it.
  static func show(_ name: String, on bus: PrivateBus) async throws {
    let window = "org.keepassxc.KeePassXC.MainWindow"
    try await bus.run(
      "/usr/bin/dbus-send", "--session", "--print-reply", "--dest=\(window)", "/keepassxc",
      "\(window).openDatabase", "string:\(bus["data/\(name).kdbx"])", "string:pw")
  }

  var isRunning: Bool { daemon.isRunning }

  /// Makes changes, and waits until they are on disk.
  func saving(_ change: () async throws -> Void) async throws {
    try await SavedFile(path: database).saving(change)
  }

  /// Kills KeePassXC, as in a crash.
  func kill() { daemon.kill() }
}
