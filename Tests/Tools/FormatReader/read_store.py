#!/usr/bin/env python3
"""Prints the contents of a sealed store as JSON. It never writes to the store.

The passphrase file contains the passphrase; a single newline at its end is removed.
A key file holds exactly 32 bytes.
"""

import argparse
import json
import sys

import sealed_store


class Usage(sealed_store.StoreError):
    kind = "usage"


def contents(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as problem:
        raise Usage(f"{path}: {problem.strerror}") from None


def credentials(options) -> dict:
    if options.key_file:
        return {"raw_key": contents(options.key_file)}
    if options.passphrase_file:
        try:
            text = contents(options.passphrase_file).decode()
        except UnicodeDecodeError:
            raise Usage("the passphrase is not UTF-8") from None
        return {"passphrase": text.removesuffix("\n")}
    if options.recipient_key:
        return {"recipient_key": contents(options.recipient_key)}
    named = {}
    for pair in options.named:
        # Only the last "=" separates, because a reference may be a URI that contains "=" itself.
        reference, equals, path = pair.rpartition("=")
        if not equals:
            raise Usage("--named must be REF=KEYFILE")
        named[reference] = contents(path)
    return {"named": named}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", metavar="DIR")
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--key-file", metavar="F")
    how.add_argument("--passphrase-file", metavar="F")
    how.add_argument("--recipient-key", metavar="F")
    how.add_argument("--named", metavar="REF=KEYFILE", action="append")
    parser.add_argument("--json", action="store_true", help="on one line, for programs")
    options = parser.parse_args()
    try:
        store = sealed_store.Store(options.directory, **credentials(options))
        answer, status = {
            "items": [
                dict(item.name._asdict(), value_hex=item.value.hex(), time=item.time)
                for item in store.items()],
            "fingerprint": store.fingerprint,
            "slots": store.slots,
            "findings": [{"kind": kind, "what": text} for kind, text in store.check()],
        }, 0
    except sealed_store.StoreError as problem:
        answer, status = {"error": problem.kind, "what": str(problem)}, 1
    except OSError as problem:
        answer, status = {"error": "io", "what": str(problem)}, 1
    print(json.dumps(answer, indent=None if options.json else 2))
    return status


if __name__ == "__main__":
    sys.exit(main())
