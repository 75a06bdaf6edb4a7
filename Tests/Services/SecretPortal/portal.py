"""The desktop's portal for secrets, with the faults that tests ask for.

Faults are set over the bus: org.sessiontools.Faults.Set(FAULT). "" means 64 bytes from a working
portal; the others are the branches of `RetrieveSecret`. Faults.Count() is how often the portal was
asked.
"""

import os
import threading

import dbus
import dbus.lowlevel
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

NAME = "org.freedesktop.portal.Desktop"
PATH = "/org/freedesktop/portal/desktop"
FAULTS = "org.sessiontools.Faults"
SECRET = bytes(range(64))


def write(descriptor, content):
    try:
        while content:
            content = content[os.write(descriptor, content) :]
        os.close(descriptor)
    except BrokenPipeError:
        os.close(descriptor)


class Portal(dbus.service.Object):
    fault = ""
    count = 0
    kept = []

    @dbus.service.method(FAULTS, in_signature="s", out_signature="")
    def Set(self, fault):
        self.fault = str(fault)

    @dbus.service.method(FAULTS, in_signature="", out_signature="u")
    def Count(self):
        return self.count

    @dbus.service.method(
        "org.freedesktop.DBus.Properties", in_signature="ss", out_signature="v"
    )
    def Get(self, interface, name):
        assert (interface, name) == ("org.freedesktop.portal.Secret", "version")
        return dbus.UInt32(1)

    def respond(self, path, response):
        message = dbus.lowlevel.SignalMessage(
            path, "org.freedesktop.portal.Request", "Response"
        )
        message.append(dbus.UInt32(response), {}, signature="ua{sv}")
        message.set_destination(self.sender)
        self.connection.send_message(message)

    @dbus.service.method(
        "org.freedesktop.portal.Secret",
        in_signature="ha{sv}",
        out_signature="o",
        sender_keyword="sender",
        async_callbacks=("answer", "fail"),
    )
    def RetrieveSecret(self, descriptor, options, sender, answer, fail):
        self.count += 1
        self.sender = sender
        descriptor = descriptor.take()
        path = f"{PATH}/request/{sender[1:].replace('.', '_')}/{self.count}"
        fault, _, number = self.fault.partition(" ")

        def respond_later(response=0):
            GLib.idle_add(self.respond, path, response)

        match fault:
            case "":
                write(descriptor, SECRET)
                answer(path)
                respond_later()
            case "length":
                write(descriptor, bytes(int(number)))
                answer(path)
                respond_later()
            case "pieces":
                answer(path)

                def go_on(left):
                    write(os.dup(descriptor), SECRET[64 - left : 65 - left])
                    if left > 1:
                        GLib.timeout_add(1, go_on, left - 1)
                    else:
                        os.close(descriptor)

                go_on(64)
                respond_later()
            case "endless":
                answer(path)
                content = bytes(1 << 24)
                threading.Thread(target=write, args=(descriptor, content)).start()
            case "early":
                write(descriptor, SECRET)
                self.respond(path, 0)
                answer(path)
            case "other-request":
                write(descriptor, SECRET)
                self.respond(path + "0", 2)
                answer(path)
                respond_later()
            case "response":
                os.close(descriptor)
                answer(path)
                respond_later(int(number))
            case "refused-and-open":
                self.kept.append(descriptor)
                answer(path)
                respond_later(2)
            case "open":
                os.write(descriptor, SECRET)
                self.kept.append(descriptor)
                answer(path)
                respond_later()
            case "no-response":
                write(descriptor, SECRET)
                answer(path)
            case "no-answer":
                write(descriptor, SECRET)
            case "error":
                os.close(descriptor)
                fail(dbus.DBusException("no", name="org.freedesktop.portal.Error.Failed"))
            case "not-allowed":
                os.close(descriptor)
                fail(
                    dbus.DBusException(
                        "Failed to open file bwrapinfo.json",
                        name="org.freedesktop.portal.Error.NotAllowed",
                    )
                )
            case "die":
                write(descriptor, SECRET)
                answer(path)
                GLib.idle_add(os._exit, 1)
            case _:
                os._exit(2)


dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.SessionBus()
portal = Portal(bus, PATH)
name = dbus.service.BusName(NAME, bus)
GLib.MainLoop().run()
