"""Python's keyring with keyrings.cryptfile."""

from keyrings.cryptfile.cryptfile import CryptFileKeyring
from keyrings.cryptfile.escape import escape

import file_keyring
import peer


class Cryptfile(file_keyring.FileKeyring):
    keyring_type = CryptFileKeyring
    escape = staticmethod(escape)

    @staticmethod
    def description() -> peer.Description:
        return file_keyring.description(
            "keyring-cryptfile", "keyrings.cryptfile", "keyrings.cryptfile",
            "AES-128-GCM, Argon2id with 64 MiB for each item, bound to the identifier")


if __name__ == "__main__":
    peer.main(Cryptfile)
