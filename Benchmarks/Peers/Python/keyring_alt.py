"""Python's keyring with the encrypted file of keyrings.alt."""

from keyrings.alt.escape import escape
from keyrings.alt.file import EncryptedKeyring

import file_keyring
import peer


class Alt(file_keyring.FileKeyring):
    keyring_type = EncryptedKeyring
    escape = staticmethod(escape)

    @staticmethod
    def description() -> peer.Description:
        return file_keyring.description(
            "keyring-alt", "keyrings.alt", "EncryptedKeyring of keyrings.alt",
            "AES-256-CFB without authentication, PBKDF2 for each item")


if __name__ == "__main__":
    peer.main(Alt)
