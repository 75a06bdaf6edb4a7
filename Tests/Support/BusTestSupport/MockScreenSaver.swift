import SessionToolsDBus
import SessionToolsTestSupport

/// A screen saver in Python, controlled by tests.
package final class MockScreenSaver: Sendable {
  package static let freedesktop = "org.freedesktop.ScreenSaver"
  package static let gnome = "org.gnome.ScreenSaver"

  private let name: String
  private let path: String
  private let daemon: Daemon
  private let connection: DBusConnection

  /// Starts a screen saver.
  ///
  /// - Parameters:
  ///   - bus: The bus that it joins.
  ///   - name: Its name on the bus, which is also the name of its interface.
  ///   - isActive: What it answers when it is asked whether it is active; `nil` if it fails.
  /// - Throws: An error if it cannot be started.
  package init(on bus: PrivateBus, name: String = freedesktop, isActive: Bool?) async throws {
    self.name = name
    path = "/" + name.replacing(".", with: "/")
    // The program has the method before it owns the name, because a source that already listens
    // calls the method as soon as the name has an owner.
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

  /// Announces that it became active or inactive.
  package func say(isActive: Bool) async throws {
    _ = try await connection.call(
      DBusMethod(name, path, name, "Say"), [.boolean(isActive)], timeout: patience)
  }

  /// Kills the screen saver, as in a crash.
  package func kill() { daemon.kill() }
}
