"""pass, the standard Unix password manager: one process of pass and of GnuPG for each operation."""

import collections.abc
import contextlib
import os
import pathlib
import shutil
import socket
import tempfile

import peer

USER = "peer@example.com"


class PasswordStore(peer.Peer):
    @staticmethod
    def description() -> peer.Description:
        return peer.Description(
            name="pass",
            version=version(),
            what="pass with a key without a passphrase, a file per item; a put or a get is a "
            "process of pass that starts GnuPG, whose agent keeps running; identifiers are the "
            "names of the files.",
            durable="no",
            durableBecause="Under strace, nothing is synced, and an item's file is emptied before "
            "it is written: a power cut may lose the new value and the one that it replaced.",
            sealed="OpenPGP to a Curve25519 key, not bound to the identifier",
            start="process each",
        )

    @contextlib.contextmanager
    def opened(self) -> collections.abc.Iterator[None]:
        home = self.directory / "gnupg"
        self.store = self.directory / "store"
        is_new = not home.exists()
        home.mkdir(mode=0o700, exist_ok=True)
        self.environment = {
            "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(self.directory),
            "GNUPGHOME": str(home), "PASSWORD_STORE_DIR": str(self.store),
        }
        with self.agent():
            if is_new:
                self.required(
                    "gpg", "--batch", "--passphrase", "", "--quick-generate-key", USER,
                    "future-default", "default", "never")
                self.required("pass", "init", USER)
                (self.store / peer.SERVICE).mkdir(mode=0o700)
            yield

    @contextlib.contextmanager
    def agent(self) -> collections.abc.Iterator[None]:
        """Runs GnuPG's agent as a child. Unlike gpg's own agent it ends with this process."""
        self.required("gpgconf", "--create-socketdir", may_fail=True)
        told = self.required("gpgconf", "--list-dirs", "agent-socket")
        path = pathlib.Path(told.decode().strip())
        path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
            listener.listen()
            # It takes the number of descriptors in LISTEN_FDS, beginning with descriptor 3.
            os.dup2(listener.fileno(), 3)
            environment = {**self.environment, "LISTEN_FDS": "1", "LISTEN_FDNAMES": "std"}
            with open(self.directory / "agent.log", "wb") as log, peer.running(
                ["gpg-agent", "--supervised"], environment, pass_fds=[3], stderr=log
            ):
                yield
        path.unlink(missing_ok=True)
        self.required("gpgconf", "--remove-socketdir", may_fail=True)

    def required(self, *command: str, given: bytes = b"", may_fail: bool = False) -> bytes:
        done = peer.run(list(command), self.environment, given)
        return done.stdout if may_fail else peer.required(done)

    def put(self, identifier: str, value: bytes) -> None:
        name = f"{peer.SERVICE}/{identifier}"
        self.required("pass", "insert", "--multiline", "--force", name, given=value)

    def put_all(self, items: dict[str, bytes]) -> None:
        """Seals all files with one process of GnuPG."""
        folder = self.store / peer.SERVICE
        for identifier, value in items.items():
            (folder / identifier).write_bytes(value)
        names = "".join(f"{folder / identifier}\n" for identifier in items)
        self.required(
            "gpg", "--batch", "--yes", "--quiet", "--trust-model", "always", "--recipient", USER,
            "--multifile", "--encrypt", given=names.encode())
        for identifier in items:
            (folder / identifier).unlink()
        peer.sync_file_system(folder)

    def get(self, identifier: str) -> bytes | None:
        done = peer.run(["pass", "show", f"{peer.SERVICE}/{identifier}"], self.environment)
        return done.stdout if done.returncode == 0 else None

    def get_all(self, identifiers: list[str]) -> dict[str, bytes | None]:
        """Opens copies of all files with one process of GnuPG."""
        with tempfile.TemporaryDirectory(dir=self.directory) as name:
            folder = pathlib.Path(name)
            for identifier in identifiers:
                sealed = self.store / peer.SERVICE / f"{identifier}.gpg"
                if sealed.exists():
                    shutil.copy(sealed, folder)
            names = "".join(f"{path}\n" for path in folder.iterdir())
            self.required(
                "gpg", "--batch", "--quiet", "--multifile", "--decrypt", given=names.encode(),
                may_fail=True)
            return {path.name: path.read_bytes() for path in folder.glob("item-???????")}

    def identifiers(self) -> collections.abc.Iterable[str]:
        tree = self.required("pass", "ls", peer.SERVICE).decode()
        return [line.split()[-1] for line in tree.splitlines()[1:]]

    def remove(self, identifier: str) -> None:
        self.required("pass", "rm", "--force", f"{peer.SERVICE}/{identifier}")


def version() -> str:
    said = peer.run(["pass", "version"], {"PATH": "/usr/bin:/bin"}).stdout.decode()
    return next((word[1:] for word in said.split() if word[:1] == "v" and word[1:2].isdigit()), "")


if __name__ == "__main__":
    peer.main(PasswordStore)
