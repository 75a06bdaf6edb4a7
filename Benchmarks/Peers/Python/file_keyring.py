"""The common parts of the two keyrings in a file, of which one descends from the other."""

import base64
import collections.abc
import configparser
import contextlib
import importlib.metadata

import peer

PASSWORD = "pw"


def description(name: str, package: str, keyring: str, sealed: str) -> peer.Description:
    """Returns the description of a keyring; only these parts of it differ."""
    return peer.Description(
        name=name,
        version=importlib.metadata.version(package),
        what=f"Python's keyring with {keyring}, one INI file that is read at every get and "
        "written at every put, each time with a derived key; values are text, so base64; it "
        "cannot list.",
        durable="no",
        durableBecause="Under strace, nothing is synced, and the file is emptied before it is "
        "written: a crash may lose every item.",
        sealed=sealed,
        start="in process",
        operations=("put", "get", "remove"),
    )


class FileKeyring(peer.Peer):
    """A keyring with `file_path` and `keyring_key`, whose file is INI."""

    keyring_type: type
    escape: collections.abc.Callable[[str], str]
    """Escapes a name as the keyring does in its file."""

    @contextlib.contextmanager
    def opened(self) -> collections.abc.Iterator[None]:
        self.keyring = self.opened_keyring(self.keyring_type)
        yield

    def opened_keyring(self, kind: type):
        made = kind()
        made.file_path = str(self.directory / "items.cfg")
        made.keyring_key = PASSWORD
        return made

    def put(self, identifier: str, value: bytes) -> None:
        self.keyring.set_password(peer.SERVICE, identifier, peer.text_of(value))

    def put_all(self, items: dict[str, bytes]) -> None:
        """Seals each item by itself, as the keyring does, and writes the file once."""
        file = configparser.RawConfigParser()

        class Bulk(self.keyring_type):  # type: ignore
            def _write_config_value(self, service: str, key: str, value: str) -> None:
                section, option = escape(service), escape(key)
                if not file.has_section(section):
                    file.add_section(section)
                file.set(section, option, value)

        escape = self.escape
        bulk = self.opened_keyring(Bulk)
        for identifier, value in items.items():
            bulk.set_password(peer.SERVICE, identifier, peer.text_of(value))
        with open(bulk.file_path, "w", encoding="utf-8") as output:
            file.write(output)

    def get(self, identifier: str) -> bytes | None:
        text = self.keyring.get_password(peer.SERVICE, identifier)
        return None if text is None else peer.value_in(text)

    def get_all(self, identifiers: list[str]) -> dict[str, bytes | None]:
        """Reads the file once, and opens each item by itself, as the keyring does."""
        file = configparser.RawConfigParser()
        file.read(self.keyring.file_path, encoding="utf-8")
        section = file[self.escape(peer.SERVICE)]
        return {identifier: self.opened_value(identifier, section) for identifier in identifiers}

    def opened_value(self, identifier: str, section: configparser.SectionProxy) -> bytes | None:
        sealed = section.get(self.escape(identifier))
        if sealed is None:
            return None
        associated = self.keyring._generate_assoc(peer.SERVICE, identifier)
        try:
            opened = self.keyring.decrypt(base64.b64decode(sealed), associated)
            return peer.value_in(opened.decode())
        except (ValueError, AssertionError):
            return None

    def remove(self, identifier: str) -> None:
        self.keyring.delete_password(peer.SERVICE, identifier)
