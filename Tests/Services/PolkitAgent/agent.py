"""A polkit agent whose person always acts in the same way.

    agent.py PROCESS terminal PASSWORD   runs pkttyagent in a terminal and types the password
    agent.py PROCESS dismiss             reports that the person dismissed the question
    agent.py PROCESS confirm             reports an answer that the person did not give
    agent.py PROCESS wait                asks, and never answers
    agent.py PROCESS die                 exits when it is asked

The agent serves one process, and prints "ready", "asked MESSAGE" and "cancelled", a line each.
"""

import os
import pty
import sys
import termios
import time

NAME = "org.freedesktop.PolicyKit1"
PATH = "/org/example/Agent"


def say(line):
    print(line, flush=True)


def turned_off_echo(descriptor):
    """Waits until input is not echoed; returns `False` after five minutes."""
    for _ in range(30_000):
        if not termios.tcgetattr(descriptor)[3] & termios.ECHO:
            return True
        time.sleep(0.01)
    return False


def terminal(process, password):
    """Runs pkttyagent in a new terminal and answers its questions for a password."""
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    child, descriptor = pty.fork()
    if child == 0:
        os.execv(
            "/usr/bin/pkttyagent",
            ["pkttyagent", "--process", process, "--notify-fd", str(writer)],
        )
    os.close(writer)
    os.read(reader, 1)  # pkttyagent closes its end when it is registered.
    say("ready")
    written = b""
    while True:
        try:
            written += os.read(descriptor, 4096)
        except OSError:
            return
        if not (written.rstrip().endswith(b":") and b"assword" in written):
            continue
        say("asked")
        written = b""
        # pkttyagent discards input that is typed before that.
        if not turned_off_echo(descriptor):
            sys.exit("pkttyagent asked for a password without turning off the echo")
        os.write(descriptor, password.encode() + b"\n")


def on_bus(process, conduct):
    """Registers an object that answers without a person."""
    import dbus
    import dbus.mainloop.glib
    import dbus.service
    from gi.repository import GLib

    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    bus = dbus.SystemBus()

    class Cancelled(dbus.DBusException):
        _dbus_error_name = "org.freedesktop.PolicyKit1.Error.Cancelled"

    class Agent(dbus.service.Object):
        @dbus.service.method(
            "org.freedesktop.PolicyKit1.AuthenticationAgent",
            in_signature="sssa{ss}sa(sa{sv})",
            async_callbacks=("answer", "fail"),
        )
        def BeginAuthentication(
            self, action, message, icon, details, cookie, identities, answer, fail
        ):
            say("asked " + message)
            if conduct == "dismiss":
                fail(Cancelled("dismissed"))
            elif conduct == "confirm":
                answer()
            elif conduct == "die":
                os._exit(0)

        @dbus.service.method(
            "org.freedesktop.PolicyKit1.AuthenticationAgent", in_signature="s"
        )
        def CancelAuthentication(self, cookie):
            say("cancelled")

    agent = Agent(bus, PATH)
    authority = dbus.Interface(
        bus.get_object(NAME, "/org/freedesktop/PolicyKit1/Authority"),
        "org.freedesktop.PolicyKit1.Authority",
    )
    with open("/proc/" + process + "/stat") as file:
        start = int(file.read().rsplit(")", 1)[1].split()[19])
    subject = {
        "pid": dbus.UInt32(int(process), variant_level=1),
        "start-time": dbus.UInt64(start, variant_level=1),
    }
    authority.RegisterAuthenticationAgent(("unix-process", subject), "C", PATH)
    say("ready")
    GLib.MainLoop().run()


if sys.argv[2] == "terminal":
    terminal(sys.argv[1], sys.argv[3])
else:
    on_bus(sys.argv[1], sys.argv[2])
