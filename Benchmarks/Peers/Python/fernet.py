"""Fernet from Python's cryptography package, a file per item."""

import collections.abc
import contextlib
import importlib.metadata
import os
import pathlib

from cryptography.fernet import Fernet, InvalidToken

import peer


class FernetFiles(peer.Peer):
    @staticmethod
    def description() -> peer.Description:
        return peer.Description(
            name="fernet",
            version=importlib.metadata.version("cryptography"),
            what="A Python program that keeps each item in a file of its own, sealed by Fernet of "
            "the cryptography package; identifiers are the names of the files.",
            durable="yes",
            durableBecause="Under strace, a put syncs the new file, renames it and syncs the "
            "directory before it returns; a removal syncs the directory.",
            sealed="AES-128-CBC with HMAC-SHA256, not bound to the identifier",
            start="in process",
        )

    @contextlib.contextmanager
    def opened(self) -> collections.abc.Iterator[None]:
        key = self.directory / "key"
        if not key.exists():
            key.touch(0o600)
            key.write_bytes(Fernet.generate_key())
        self.fernet = Fernet(key.read_bytes())
        self.items = self.directory / "items"
        self.items.mkdir(mode=0o700, exist_ok=True)
        self.file = os.open(self.items, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        yield
        os.close(self.file)

    def write(self, identifier: str, value: bytes) -> pathlib.Path:
        path = self.items / f".{identifier}.new"
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(self.fernet.encrypt(value))
            file.flush()
            os.fsync(file.fileno())
        return path

    def put(self, identifier: str, value: bytes) -> None:
        self.write(identifier, value).rename(self.items / identifier)
        os.fsync(self.file)

    def put_all(self, items: dict[str, bytes]) -> None:
        for identifier, value in items.items():
            (self.items / identifier).write_bytes(self.fernet.encrypt(value))
        peer.sync_file_system(self.items)

    def get(self, identifier: str) -> bytes | None:
        try:
            return self.fernet.decrypt((self.items / identifier).read_bytes())
        except (FileNotFoundError, InvalidToken):
            return None

    def identifiers(self) -> collections.abc.Iterable[str]:
        return (name for name in os.listdir(self.items) if not name.startswith("."))

    def remove(self, identifier: str) -> None:
        (self.items / identifier).unlink()
        os.fsync(self.file)


if __name__ == "__main__":
    peer.main(FernetFiles)
