"""KeePassXC's command-line tool: one process for each operation."""

import collections.abc
import contextlib
import subprocess
import xml.etree.ElementTree as xml

import peer

PASSWORD = b"pw\n"
# The smallest value that it accepts, in milliseconds; the default derives the key for one second.
DECRYPTION_TIME = "100"


class KeePassXC(peer.Peer):
    @staticmethod
    def description() -> peer.Description:
        said = peer.run(["keepassxc-cli", "--version"], {"PATH": "/usr/bin:/bin"}).stdout
        return peer.Description(
            name="keepassxc",
            version=said.decode().strip(),
            what="keepassxc-cli with one file; each operation is a process that derives the key, "
            f"which is set to take {DECRYPTION_TIME} ms, the minimum, and reads the whole file; "
            "values are text, so base64.",
            durable="no",
            durableBecause="Under strace, a change syncs the new file and renames it before it "
            "ends, but not the directory: a power cut may undo the last changes, and no more than "
            "these.",
            sealed="AES-256-CBC with HMAC-SHA256 for the file, identifiers too",
            start="process each",
        )

    @contextlib.contextmanager
    def opened(self) -> collections.abc.Iterator[None]:
        self.file = self.directory / "items.kdbx"
        self.environment = {
            "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(self.directory),
            "QT_QPA_PLATFORM": "offscreen",
        }
        yield

    def ran(self, command: str, *rest: str, given: bytes = b"") -> subprocess.CompletedProcess:
        return peer.run(
            ["keepassxc-cli", command, "--quiet", *rest], self.environment, PASSWORD + given)

    def call(self, command: str, *rest: str, given: bytes = b"") -> bytes:
        return peer.required(self.ran(command, *rest, given=given))

    def put(self, identifier: str, value: bytes) -> None:
        arguments = ["--password-prompt", str(self.file), identifier]
        text = peer.text_of(value).encode() + b"\n"
        # `add` fails for an item that exists.
        if self.ran("add", *arguments, given=text).returncode != 0:
            self.call("edit", *arguments, given=text)

    def put_all(self, items: dict[str, bytes]) -> None:
        """Imports all items into a new file."""
        plain = self.directory / "items.xml"
        plain.touch(0o600)
        plain.write_bytes(exported(items))
        self.file.unlink(missing_ok=True)
        self.call(
            "import", "--set-password", "--decryption-time", DECRYPTION_TIME, str(plain),
            str(self.file), given=PASSWORD)
        plain.unlink()

    def get(self, identifier: str) -> bytes | None:
        done = self.ran("show", "--attributes", "Password", str(self.file), identifier)
        return peer.value_in(done.stdout.decode()) if done.returncode == 0 else None

    def get_all(self, identifiers: list[str]) -> dict[str, bytes | None]:
        """Exports all items."""
        found: dict[str, bytes | None] = {}
        for entry in xml.fromstring(self.call("export", str(self.file))).iter("Entry"):
            strings = {part.findtext("Key"): part.findtext("Value") or ""
                       for part in entry.findall("String")}
            found[strings["Title"] or ""] = peer.value_in(strings["Password"])
        return found

    def identifiers(self) -> collections.abc.Iterable[str]:
        return self.call("ls", "--flatten", str(self.file)).decode().splitlines()

    def remove(self, identifier: str) -> None:
        self.call("rm", str(self.file), identifier)


def exported(items: dict[str, bytes]) -> bytes:
    """Returns a database in KeePass's XML without a recycle bin, so that removals delete items."""
    file = xml.Element("KeePassFile")
    meta = xml.SubElement(file, "Meta")
    xml.SubElement(meta, "RecycleBinEnabled").text = "False"
    group = xml.SubElement(xml.SubElement(file, "Root"), "Group")
    xml.SubElement(group, "Name").text = "Root"
    for identifier, value in items.items():
        entry = xml.SubElement(group, "Entry")
        for key, text in {"Title": identifier, "Password": peer.text_of(value)}.items():
            string = xml.SubElement(entry, "String")
            xml.SubElement(string, "Key").text = key
            xml.SubElement(string, "Value").text = text
    return xml.tostring(file)


if __name__ == "__main__":
    peer.main(KeePassXC)
