import SessionToolsDBus
import Foundation
import SessionToolsTestSupport

/// python-dbusmock's logind with a session, controlled by tests.
///
/// Its inhibitors are real.
package final class MockLogind: Sendable {
  package static let service = "org.freedesktop.login1"
  private static let manager = "/org/freedesktop/login1"
  private static let session = "/org/freedesktop/login1/session/c1"

  private let daemon: Daemon
  private let connection: DBusConnection
  private let bus: PrivateBus

  /// How logind finds the session of this process.
  package enum Membership {
    case byProcess
    /// As for programs that the user's own systemd started.
    case byDisplay
    case none
  }

  package init(on bus: PrivateBus, _ membership: Membership = .byProcess) async throws {
    self.bus = bus
    daemon = try await bus.mock(template: "logind", name: Self.service)
    connection = try await bus.connect()
    // The session of this process is not the first.
    for name in ["c0", "c1"] {
      try await mock(
        "AddSession",
        [.string(name), .string("seat0"), .unsigned32(1000), .string("ada"), .boolean(true)])
    }
    let failure = "raise dbus.exceptions.DBusException('none', name='org.example.None')"
    let answer = "ret = '\(Self.session)'"
    for (method, signature, code) in [
      ("GetSessionByPID", "u", membership == .byProcess ? answer : failure),
      (
        "GetSession", "s",
        membership == .byDisplay ? "assert args[0] == 'auto'; \(answer)" : failure
      ),
    ] {
      try await mock(
        "AddMethod",
        ["org.freedesktop.login1.Manager", method, signature, "o", code].map(Variant.string))
    }
  }

  private func mock(_ method: String, _ arguments: [Variant]) async throws {
    try await call(Self.manager, "org.freedesktop.DBus.Mock", method, arguments)
  }

  @discardableResult
  private func call(
    _ path: String, _ interface: String, _ method: String, _ arguments: [Variant] = []
  ) async throws -> [Variant] {
    try await connection.call(
      DBusMethod(Self.service, path, interface, method), arguments, timeout: patience
    ).children
  }

  /// Sends the session's signal `Lock` or `Unlock`.
  package func request(isLock: Bool, session: String = session) async throws {
    try await call(session, "org.freedesktop.login1.Session", isLock ? "Lock" : "Unlock")
  }

  /// Requests that the other session be locked, and sets its hint that it is locked.
  package func lockOther() async throws {
    let other = "/org/freedesktop/login1/session/c0"
    try await request(isLock: true, session: other)
    try await say(isLocked: true, session: other)
  }

  /// Sets the session's hint whether it is locked.
  package func say(isLocked: Bool, session: String = session) async throws {
    try await call(
      session, "org.freedesktop.login1.Session", "SetLockedHint", [.boolean(isLocked)])
  }

  /// Sets a property of the session, such as `Active`, and announces it.
  package func set(_ property: String, _ value: Bool) async throws {
    let changed = Variant.properties([property: .boolean(value)])
    try await call(
      Self.session, "org.freedesktop.DBus.Mock", "UpdateProperties",
      [.string("org.freedesktop.login1.Session"), changed])
  }

  /// Announces sleep or its end.
  package func announce(sleep: Bool) async throws {
    try await mock(
      "EmitSignal",
      [
        .string("org.freedesktop.login1.Manager"), .string("PrepareForSleep"), .string("b"),
        .array([.variant(.boolean(sleep))], of: "v"),
      ])
  }

  /// Returns the number of inhibitors that delay sleep now.
  package func inhibitorCount() async throws -> Int {
    let answer = try await call(
      Self.manager, "org.freedesktop.login1.Manager", "ListInhibitors")
    return answer.first?.children.count ?? 0
  }

  /// Returns the same number, blocking the thread and using no other thread.
  package static func blockingInhibitorCount(at address: String) throws -> Int {
    let pipe = try ClosedPipe()
    let child = try Child(
      "/usr/bin/dbus-send",
      [
        "--bus=\(address)", "--print-reply=literal", "--dest=\(service)", manager,
        "org.freedesktop.login1.Manager.ListInhibitors",
      ], environment: [:], output: pipe.writer.fileDescriptor)
    try pipe.writer.close()
    let text = String(decoding: try pipe.reader.readToEnd() ?? Data(), as: UTF8.self)
    guard child.waitUntilExit() == 0 else { throw NeverHappened(what: "an answer: \(text)") }
    return text.split(separator: " ").filter { $0 == "delay" }.count
  }

  /// Kills logind, as in a crash.
  package func kill() { daemon.kill() }
}
