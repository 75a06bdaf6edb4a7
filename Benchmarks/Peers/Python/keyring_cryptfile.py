"""Python's keyring with keyrings.cryptfile."""

import collections.abc
import importlib.metadata

from keyrings.cryptfile.cryptfile import CryptFileKeyring
from keyrings.cryptfile.escape import escape

import file_keyring
import peer


class Cryptfile(file_keyring.FileKeyring):
    keyring_type = CryptFileKeyring

    @staticmethod
    def escape() -> collections.abc.Callable[[str], str]:
        return escape

    @staticmethod
    def description() -> peer.Description:
        return peer.Description(
            name="keyring-cryptfile",
            version=importlib.metadata.version("keyrings.cryptfile"),
            what="Python's keyring with keyrings.cryptfile, one INI file that is read at every "
            "get and written at every put, with a key derived for each; values are text, so "
            "base64; it cannot list.",
            durable="no",
            durableBecause="Under strace, nothing is synced, and the file is emptied before it "
            "is written: a crash may lose every item.",
            sealed="AES-128-GCM, Argon2id with 64 MiB for each item, bound to the identifier",
            start="in process",
            operations=("put", "get", "remove"),
        )


if __name__ == "__main__":
    peer.main(Cryptfile)
