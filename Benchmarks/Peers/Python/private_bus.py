"""A private message bus with gnome-keyring, whose files are in a directory."""

import collections.abc
import contextlib
import pathlib
import subprocess

import peer

NAME = "org.freedesktop.secrets"
PASSWORD = b"pw"

# The limits are those of a desktop: libsecret needs a rule and a reply for each item that it lists.
CONFIGURATION = """\
<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
  "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>{address}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/>
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
  <limit name="max_match_rules_per_connection">50000</limit>
  <limit name="max_replies_per_connection">50000</limit>
</busconfig>
"""


def has_owner(environment: dict[str, str], name: str) -> bool:
    asked = peer.run(
        ["dbus-send", "--session", "--print-reply=literal", "--dest=org.freedesktop.DBus", "/",
         "org.freedesktop.DBus.NameHasOwner", f"string:{name}"], environment)
    return b"true" in asked.stdout


@contextlib.contextmanager
def gnome_keyring(directory: pathlib.Path) -> collections.abc.Iterator[dict[str, str]]:
    """Runs the bus and the keyring, and yields the environment for their clients."""
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    for variable, name in {
        "HOME": "home", "XDG_DATA_HOME": "data", "XDG_CONFIG_HOME": "config",
        "XDG_RUNTIME_DIR": "runtime", "TMPDIR": "temporary",
    }.items():
        (directory / name).mkdir(mode=0o700, exist_ok=True)
        environment[variable] = str(directory / name)
    address = f"unix:path={directory}/runtime/bus"
    (directory / "runtime" / "bus").unlink(missing_ok=True)
    configuration = directory / "bus.conf"
    configuration.write_text(CONFIGURATION.format(address=address))
    environment["DBUS_SESSION_BUS_ADDRESS"] = address

    bus = ["dbus-daemon", "--nofork", "--nopidfile", f"--config-file={configuration}"]
    daemon = ["gnome-keyring-daemon", "--foreground", "--components=secrets", "--unlock"]
    with contextlib.ExitStack() as daemons:
        log = daemons.enter_context(open(directory / "daemons.log", "ab"))
        daemons.enter_context(peer.running(bus, environment, stderr=log))
        peer.wait_until(
            "the bus is there", lambda: has_owner(environment, "org.freedesktop.DBus"))
        keyring = daemons.enter_context(peer.running(
            daemon, environment, stdin=subprocess.PIPE, stderr=log))
        assert keyring.stdin is not None
        keyring.stdin.write(PASSWORD)
        keyring.stdin.close()
        peer.wait_until("the keyring is there", lambda: has_owner(environment, NAME))
        yield environment


def version() -> str:
    said = peer.run(["gnome-keyring-daemon", "--version"], {"PATH": "/usr/bin:/bin"}).stdout
    return said.decode().split("\n")[0].removeprefix("gnome-keyring-daemon: ")
