"""A provider of org.freedesktop.secrets that fails in the ways that tests ask for.

It has one collection, the default one, in memory, and encrypts nothing. Faults are set over the
bus: org.sessiontools.Faults.Set(METHOD OR PROPERTY, FAULT), where "" means no fault. Faults.Add
adds an item of another program: ATTRIBUTES, SECRET. Faults.GivenCount returns how many secrets
were given so far.

`provider.py NAME ...` owns more names on the bus; as org.kde.ksecretd it also reports whether its
wallet is open, as KWallet does.

`provider.py prompter` is a prompter for gnome-keyring that never answers, and counts the requests.
`provider.py unlock PASSWORD` unlocks gnome-keyring as a login does.
"""

import os
import sys

import dbus
import dbus.lowlevel
import dbus.mainloop.glib
from gi.repository import GLib

ROOT = "/org/freedesktop/secrets"
COLLECTION = ROOT + "/collection/one"
SESSION = ROOT + "/session/1"
INTERFACE = "org.freedesktop.Secret."
# The path at which KWallet reports which wallets are open.
WALLETS = "/ksecretd"
FAULTS = "org.sessiontools.Faults"
NOT_SUPPORTED = "org.freedesktop.DBus.Error.NotSupported"


class Item:
    def __init__(self, attributes, label, secret):
        self.attributes, self.label, self.secret, self.modified = attributes, label, secret, 1


class Failure(Exception):
    """Is sent as the error of the call."""


class Provider:
    def __init__(self, connection):
        self.connection = connection
        self.items = {}
        self.faults = {}
        self.prompts = {}
        self.is_locked = False
        # As in KWallet: a locked secret is returned as an empty one.
        self.empties = False
        self.count = 0
        self.given_count = 0

    # Messages

    def receive(self, _, message):
        path = message.get_path()
        if message.get_type() != 1 or not (path.startswith(ROOT) or path == WALLETS):
            return dbus.lowlevel.HANDLER_RESULT_NOT_YET_HANDLED
        arguments = message.get_args_list(byte_arrays=True)
        member = str(message.get_member())
        if message.get_interface() == FAULTS:
            if member == "GivenCount":
                self.answer(message, "u", self.given_count)
                return dbus.lowlevel.HANDLER_RESULT_HANDLED
            {"Set": self.set_fault, "Add": self.add}[member](*arguments)
            self.answer(message, "")
            return dbus.lowlevel.HANDLER_RESULT_HANDLED
        name = str(arguments[1]) if member in ("Get", "Set") else member
        fault, _, detail = self.faults.get(name, "").partition(" ")
        self.serve(message, member, arguments, fault, detail)
        return dbus.lowlevel.HANDLER_RESULT_HANDLED

    def add(self, attributes, secret):
        self.count += 1
        attributes = {str(key): str(value) for key, value in attributes.items()}
        self.items[f"{COLLECTION}/{self.count}"] = Item(attributes, "", str(secret).encode())

    def set_fault(self, name, fault):
        name, fault = str(name), str(fault)
        if name == "locked":
            self.is_locked, self.empties = fault != "", fault == "empty"
        elif fault:
            self.faults[name] = fault
        else:
            self.faults.pop(name, None)

    def serve(self, message, member, arguments, fault, detail):
        if fault == "once":
            # "once once" is twice.
            self.set_fault(member, detail if detail.startswith("once ") else "")
            while fault == "once":
                fault, _, detail = detail.partition(" ")
        if fault == "hang":
            return
        if fault == "die":
            os._exit(0)
        if fault == "error":
            self.connection.send_message(dbus.lowlevel.ErrorMessage(message, detail, "no\n"))
            return
        try:
            answer = getattr(self, member)(message, arguments, fault, detail)
        except Failure as failure:
            text = str(failure)
            self.connection.send_message(dbus.lowlevel.ErrorMessage(message, text, text))
            return
        if fault == "dieafter":
            os._exit(0)
        answer = {
            "empty": ("",),
            "number": ("i", 7),
            "text": ("s", "text"),
            "nested": ("a{sv}", {"a": dbus.Int32(1)}),
        }.get(fault, answer)
        if fault == "late":
            GLib.timeout_add(int(detail), self.answer, message, *answer)
        else:
            self.answer(message, *answer)

    def answer(self, message, signature, *arguments):
        reply = dbus.lowlevel.MethodReturnMessage(message)
        if signature:
            reply.append(*arguments, signature=signature)
        self.connection.send_message(reply)
        return False

    def signal(self, path, interface, name, signature, *arguments):
        message = dbus.lowlevel.SignalMessage(path, interface, name)
        message.append(*arguments, signature=signature)
        self.connection.send_message(message)

    # The service

    def OpenSession(self, message, arguments, fault, detail):
        if arguments[0] == "plain":
            return "vo", dbus.String("", variant_level=1), SESSION
        if fault == "sealed":
            # A public key that was not made from a secret one, so that nothing can be decrypted.
            return "vo", dbus.ByteArray(b"\x55" * 128, variant_level=1), SESSION
        raise Failure(NOT_SUPPORTED)

    def ReadAlias(self, message, arguments, fault, detail):
        if fault == "gone":
            return "o", ROOT + "/collection/gone"
        return "o", COLLECTION if arguments[0] == "default" else "/"

    def SearchItems(self, message, arguments, fault, detail):
        wanted = dict(arguments[0]).items()
        found = [path for path, item in self.items.items() if wanted <= item.attributes.items()]
        if fault == "more":
            found.append(COLLECTION + "/nothing")
        if message.get_path() == ROOT:
            open_items, locked = ([], found) if self.is_locked else (found, [])
            return ("aoao", dbus.Array(open_items, signature="o"),
                    dbus.Array(locked, signature="o"))
        return "ao", dbus.Array(found, signature="o")

    def GetSecrets(self, message, arguments, fault, detail):
        if fault == "lock":
            # Locks after some calls, as an idle timeout does; or for one call only.
            left, _, moment = detail.partition(" ")
            if left == "0":
                self.is_locked, self.empties = True, True
                self.faults.pop("GetSecrets")
            else:
                self.faults["GetSecrets"] = f"lock {int(left) - 1} {moment}".strip()
        if fault == "moments":
            # Is locked during some calls, and unlocked between them.
            self.is_locked, self.empties = True, True
            self.set_fault("GetSecrets", f"moments {int(detail) - 1}" if detail != "1" else "")
        if fault == "gone" and any(str(path) not in self.items for path in arguments[0]):
            # As in KWallet: the others are not returned either.
            raise Failure("org.freedesktop.DBus.Error.InvalidArgs")
        secrets = {
            str(path): self.secret(self.given(str(path)), fault, detail)
            for path in arguments[0]
            if str(path) in self.items and (self.empties or not self.is_locked)}
        self.given_count += len(secrets)
        if fault == "moments" or fault == "lock" and detail == "0 moment":
            self.is_locked, self.empties = False, False
        if fault == "missing":
            secrets.popitem()
        if fault == "more":
            secrets[COLLECTION + "/nothing"] = next(iter(secrets.values()))
        if fault == "unknown":
            return "a{o(oayay)}", {path: secret[:3] for path, secret in secrets.items()}
        return "a{o(oayays)}", dbus.Dictionary(secrets, signature="o(oayays)")

    def given(self, path):
        return b"" if self.is_locked else self.items[path].secret

    def secret(self, line, fault, detail):
        session, parameters = SESSION, b""
        if fault == "session":
            session = ROOT + "/session/2"
        elif fault == "parameters":
            parameters = b"\x00" * int(detail)
        elif fault == "sealed":
            parameters, line = b"\x00" * 16, b"\x01" * int(detail)
        elif fault == "line":
            line = detail.encode()
        elif fault == "other":
            line = next(item.secret for item in self.items.values() if item.secret != line)
        elif fault == "flip":
            position = int(detail) % len(line)
            line = line[:position] + bytes([line[position] ^ 2]) + line[position + 1:]
        elif fault == "cut":
            line = line[:-int(detail)]
        elif fault == "bytes":
            line = bytes(range(256))
        return (dbus.ObjectPath(session), dbus.ByteArray(parameters), dbus.ByteArray(line),
                "text/plain")

    def Unlock(self, message, arguments, fault, detail):
        if fault == "prompt":
            return "aoo", dbus.Array([], signature="o"), self.prompt(detail, self.unlocked)
        self.is_locked = False
        return "aoo", arguments[0], "/"

    def unlocked(self):
        self.is_locked = False
        return dbus.Array([COLLECTION], signature="o", variant_level=1)

    def CreateItem(self, message, arguments, fault, detail):
        if self.is_locked:
            raise Failure("org.freedesktop.Secret.Error.IsLocked")
        properties, secret, replaces = arguments
        attributes = {str(k): str(v) for k, v in properties[INTERFACE + "Item.Attributes"].items()}
        label = str(properties[INTERFACE + "Item.Label"])

        def create():
            path = next((path for path, item in self.items.items()
                         if replaces and attributes.items() <= item.attributes.items()), None)
            if path is None:
                self.count += 1
                path = f"{COLLECTION}/{self.count}"
                if fault != "forget":
                    self.items[path] = Item(attributes, label, b"")
            self.store(path, bytes(secret[2]), fault, detail)
            self.signal(COLLECTION, INTERFACE + "Collection", "ItemCreated", "o", path)
            return dbus.ObjectPath(path, variant_level=1)

        if fault == "prompt":
            return "oo", "/", self.prompt(detail, create)
        return "oo", create(), "/"

    def SetSecret(self, message, arguments, fault, detail):
        if self.is_locked:
            raise Failure("org.freedesktop.Secret.Error.IsLocked")
        path = str(message.get_path())
        if path not in self.items:
            raise Failure("org.freedesktop.DBus.Error.UnknownObject")
        self.store(path, bytes(arguments[0][2]), fault, detail)
        self.signal(COLLECTION, INTERFACE + "Collection", "ItemChanged", "o", path)
        return ("",)

    def store(self, path, secret, fault, detail):
        if fault == "line":
            secret = detail.encode()
        if fault != "forget":
            self.items[path].secret = secret
        if fault == "locks":
            self.is_locked = True

    def Delete(self, message, arguments, fault, detail):
        path = str(message.get_path())
        if path not in self.items:
            raise Failure("org.freedesktop.DBus.Error.UnknownObject")

        def delete():
            del self.items[path]
            self.is_locked = self.is_locked or fault == "locks"
            self.signal(COLLECTION, INTERFACE + "Collection", "ItemDeleted", "o", path)
            return dbus.String("", variant_level=1)

        if fault == "prompt":
            return "o", self.prompt(detail, delete)
        delete()
        return "o", "/"

    def Get(self, message, arguments, fault, detail):
        path, name = str(message.get_path()), str(arguments[1])
        if path in self.items:
            item = self.items[path]
            attributes = dbus.Dictionary(item.attributes, signature="ss")
            if fault == "changed":
                attributes["session-tools:identifier"] = "another"
            if fault == "bare":
                attributes = dbus.Dictionary({}, signature="ss")
            values = {"Attributes": attributes, "Label": item.label, "Locked": self.is_locked,
                      "Modified": dbus.UInt64(item.modified)}
        elif path == COLLECTION:
            values = {"Locked": self.is_locked, "Label": "one",
                      "Items": dbus.Array(list(self.items), signature="o")}
        elif path == ROOT:
            values = {"Collections": dbus.Array([COLLECTION], signature="o")}
        else:
            raise Failure("org.freedesktop.DBus.Error.UnknownObject")
        if fault == "wrong":
            return "v", dbus.Int32(7)
        return "v", values[name]

    def Set(self, message, arguments, fault, detail):
        item = self.items[str(message.get_path())]
        item.attributes = {str(key): str(value) for key, value in arguments[2].items()}
        return ("",)

    # KWallet's own interface

    def isOpen(self, message, arguments, fault, detail):
        return "b", fault == "open" and arguments[0] == "one"

    # Prompts: "MILLISECONDS OUTCOME"

    def prompt(self, detail, action):
        path = f"{ROOT}/prompt/{len(self.prompts) + 1}"
        self.prompts[path] = (detail.split(), action)
        return path

    def Prompt(self, message, arguments, fault, detail):
        path = str(message.get_path())
        (delay, outcome), action = self.prompts[path]
        if outcome != "never":
            GLib.timeout_add(int(delay), self.complete, path, outcome, action)
        return ("",)

    def Dismiss(self, message, arguments, fault, detail):
        self.complete(str(message.get_path()), "dismissed", None)
        return ("",)

    def complete(self, path, outcome, action):
        interface = INTERFACE + "Prompt"
        if outcome == "die":
            os._exit(0)
        if outcome == "dismissed":
            self.signal(path, interface, "Completed", "bv", True, "")
        elif outcome == "wrong":
            self.signal(path, interface, "Completed", "i", 7)
        else:
            self.signal(path, interface, "Completed", "bv", False, action())
        return False


class SilentPrompter:
    def __init__(self, connection):
        self.connection = connection
        self.count = 0

    def receive(self, _, message):
        if message.get_type() != 1 or message.get_path() != "/org/gnome/keyring/Prompter":
            return dbus.lowlevel.HANDLER_RESULT_NOT_YET_HANDLED
        if message.get_interface() == FAULTS:
            reply = dbus.lowlevel.MethodReturnMessage(message)
            reply.append(str(self.count), signature="s")
            self.connection.send_message(reply)
        else:
            self.count += 1
        return dbus.lowlevel.HANDLER_RESULT_HANDLED


def unlock(password):
    """Unlocks gnome-keyring's default collection without a prompt."""
    connection = dbus.bus.BusConnection(os.environ["DBUS_SESSION_BUS_ADDRESS"])
    service = connection.get_object("org.freedesktop.secrets", ROOT)
    standard = dbus.Interface(service, INTERFACE + "Service")
    _, session = standard.OpenSession("plain", dbus.String("", variant_level=1))
    secret = (session, dbus.ByteArray(b""), dbus.ByteArray(password.encode()), "text/plain")
    own = dbus.Interface(service, "org.gnome.keyring.InternalUnsupportedGuiltRiddenInterface")
    own.UnlockWithMasterPassword(
        standard.ReadAlias("default"), dbus.Struct(secret, signature="oayays"))


def main():
    if sys.argv[1:2] == ["unlock"]:
        unlock(sys.argv[2])
        return
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    connection = dbus.bus.BusConnection(os.environ["DBUS_SESSION_BUS_ADDRESS"])
    if sys.argv[1:] == ["prompter"]:
        served, names = SilentPrompter(connection), ["org.gnome.keyring.SystemPrompter"]
    else:
        served, names = Provider(connection), sys.argv[1:] + ["org.freedesktop.secrets"]
    connection.add_message_filter(served.receive)
    for name in names:
        connection.request_name(name)
    GLib.MainLoop().run()


main()
