"""Python's keyring with the encrypted file of keyrings.alt."""

import collections.abc
import importlib.metadata

from keyrings.alt.escape import escape
from keyrings.alt.file import EncryptedKeyring

import file_keyring
import peer


class Alt(file_keyring.FileKeyring):
    keyring_type = EncryptedKeyring

    @staticmethod
    def escape() -> collections.abc.Callable[[str], str]:
        return escape

    @staticmethod
    def description() -> peer.Description:
        return peer.Description(
            name="keyring-alt",
            version=importlib.metadata.version("keyrings.alt"),
            what="Python's keyring with EncryptedKeyring of keyrings.alt, one INI file that is "
            "read at every get and written at every put, with a key derived for each; values "
            "are text, so base64; it cannot list.",
            durable="no",
            durableBecause="Under strace, nothing is synced, and the file is emptied before it "
            "is written: a crash may lose every item.",
            sealed="AES-256-CFB without authentication, PBKDF2 for each item",
            start="in process",
            operations=("put", "get", "remove"),
        )


if __name__ == "__main__":
    peer.main(Alt)
