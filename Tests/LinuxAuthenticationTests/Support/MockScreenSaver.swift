import BusTestSupport
import DBus
import TestSupport

/// A screen saver by python-dbusmock, which is active when it is told to be.
final class MockScreenSaver: Sendable {
  static let freedesktop = "org.freedesktop.ScreenSaver"
  static let gnome = "org.gnome.ScreenSaver"

  private let name: String
  private let path: String
  private let daemon: Daemon
  private let connection: DBusConnection

  /// Starts one.
  ///
  /// - Parameters:
  ///   - bus: Where.
  ///   - name: Its name, which is that of its interface.
  ///   - isActive: What it says when it is asked; `nil` when it cannot be.
  /// - Throws: What keeps it from being started.
  init(on bus: PrivateBus, name: String = freedesktop, isActive: Bool?) async throws {
    self.name = name
    path = "/" + name.replacing(".", with: "/")
    // The name is there before the method is, which a source that listens already would notice.
    daemon = try await bus.start(
      "/usr/bin/python3",
      [
        "-c", Self.program, name, path, isActive.map { $0 ? "True" : "False" } ?? "",
      ], name: name)
    connection = try await bus.connect()
  }

  private static let program = """
    import sys, dbus, dbus.service, dbus.mainloop.glib
    from gi.repository import GLib
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    name, path, answer = sys.argv[1:]
    bus = dbus.SessionBus()
    class ScreenSaver(dbus.service.Object):
      @dbus.service.method(name, in_signature='', out_signature='b')
      def GetActive(self):
        if not answer: raise dbus.DBusException('unknown')
        return answer == 'True'
      @dbus.service.method(name, in_signature='b', out_signature='')
      def Say(self, active): self.ActiveChanged(active)
      @dbus.service.signal(name, signature='b')
      def ActiveChanged(self, active): pass
    saver = ScreenSaver(bus, path)
    owner = dbus.service.BusName(name, bus)
    GLib.MainLoop().run()
    """

  /// Lets it become active, or not.
  func say(isActive: Bool) async throws {
    _ = try await connection.call(
      DBusMethod(name, path, name, "Say"), [.boolean(isActive)], timeout: patience)
  }

  /// Ends it, as a crash does.
  func kill() { daemon.kill() }
}
