"""The desktop's portal for opening addresses, with a person who refuses each."""

import dbus
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib


class Portal(dbus.service.Object):
    @dbus.service.method(
        "org.freedesktop.portal.OpenURI",
        in_signature="ssa{sv}",
        out_signature="o",
        sender_keyword="sender",
    )
    def OpenURI(self, window, address, options, sender):
        path = "/org/freedesktop/portal/desktop/request/" + sender[1:].replace(".", "_") + "/one"
        # The response comes after the caller knows its path.
        GLib.idle_add(Request(self.connection, path).Response, 2, {})
        return dbus.ObjectPath(path)


class Request(dbus.service.Object):
    @dbus.service.signal("org.freedesktop.portal.Request", signature="ua{sv}")
    def Response(self, response, results):
        pass


dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.SessionBus()
name = dbus.service.BusName("org.freedesktop.portal.Desktop", bus)
portal = Portal(bus, "/org/freedesktop/portal/desktop")
GLib.MainLoop().run()
