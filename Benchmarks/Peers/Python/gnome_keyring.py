"""gnome-keyring on a private bus, called by the C program for libsecret."""

import dataclasses
import json
import os
import pathlib
import sys

import peer
import private_bus

DESCRIPTION = peer.Description(
    name="gnome-keyring",
    version=private_bus.version(),
    what="gnome-keyring's daemon on a private bus, called by a C program with libsecret; "
    "it writes its whole file at every removal, and twice at every put.",
    durable="no",
    durableBecause="Under strace, a change syncs the new file and renames it before the answer, "
    "but not the directory: a power cut may undo the last changes, and no more than these.",
    sealed="AES-128-CBC with MD5 in the file, AES-128-CBC on the bus",
    start="daemon",
)


def main() -> None:
    # This program answers `describe`; the client handles all other commands.
    if sys.argv[1:] == ["describe"]:
        print(json.dumps(dataclasses.asdict(DESCRIPTION), ensure_ascii=False))
        return
    if len(sys.argv) < 4:
        print("gnome_keyring: wrong usage; README.md describes the protocol", file=sys.stderr)
        sys.exit(2)
    directory = pathlib.Path(sys.argv[2])
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    client = os.environ["PEERS_DIRECTORY"] + "/peers/libsecret-file"
    with private_bus.gnome_keyring(directory.resolve()) as environment:
        done = peer.run([client, *sys.argv[1:]], {**environment, "SECRET_BACKEND": "service"})
    sys.stdout.write(done.stdout.decode())
    sys.stderr.write(done.stderr.decode().replace("libsecret-file:", "gnome-keyring:"))
    sys.exit(done.returncode)


if __name__ == "__main__":
    peer.leaving_with_failures(main)
