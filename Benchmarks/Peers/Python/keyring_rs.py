"""Rust's keyring crate, called from Python, with gnome-keyring on a private bus."""

import collections.abc
import contextlib
import importlib.metadata
import os

import peer
import private_bus


class KeyringRS(peer.Peer):
    @staticmethod
    def description() -> peer.Description:
        return peer.Description(
            name="keyring-rs",
            version=importlib.metadata.version("keyringrs"),
            what="Rust's keyring crate, called from Python by keyringrs, with gnome-keyring "
            f"{private_bus.version()} behind it; values are text, so base64; it cannot list.",
            durable="no",
            durableBecause="Under strace, a change syncs the new file and renames it before the "
            "answer, but not the directory: a power cut may undo the last changes, and no more "
            "than these.",
            sealed="AES-128-CBC with MD5 in gnome-keyring's file",
            start="daemon",
            operations=("put", "get", "remove"),
        )

    @contextlib.contextmanager
    def opened(self) -> collections.abc.Iterator[None]:
        with private_bus.gnome_keyring(self.directory) as environment:
            os.environ.update(environment)
            import keyringrs
            self.entry = keyringrs.Entry
            yield

    def put(self, identifier: str, value: bytes) -> None:
        self.entry(peer.SERVICE, identifier).set_password(peer.text_of(value))

    def get(self, identifier: str) -> bytes | None:
        try:
            return peer.value_in(self.entry(peer.SERVICE, identifier).get_password())
        except KeyError:
            return None

    def remove(self, identifier: str) -> None:
        self.entry(peer.SERVICE, identifier).delete_credential()


if __name__ == "__main__":
    peer.main(KeyringRS)
